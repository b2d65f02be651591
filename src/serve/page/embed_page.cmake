# Writes the page's files into a header: cmake -DFILES="a.js;b.css" -DSOURCE=folder -DOUTPUT=header -P embed_page.cmake. Not for other files.
set(types_html "text/html; charset=utf-8")
set(types_css "text/css; charset=utf-8")
set(types_js "text/javascript; charset=utf-8")
set(types_svg "image/svg+xml")

set(contents "")
set(table "")
set(number 0)
foreach(name IN LISTS FILES)
  file(READ ${SOURCE}/${name} hex HEX)
  file(SHA256 ${SOURCE}/${name} digest)
  string(SUBSTRING ${digest} 0 32 digest)  # 128 bits tell files apart
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "^.*\\.([a-z]+)$" "\\1" suffix ${name})
  if(name STREQUAL "index.html")
    set(path "/")
  else()
    set(path "/page/${name}")
  endif()
  string(APPEND contents "inline constexpr unsigned char kPageFile${number}[] = {${bytes}};\n")
  string(APPEND table "    {\"${path}\", \"${types_${suffix}}\",\n"
    "     {reinterpret_cast<const char*>(kPageFile${number}), sizeof(kPageFile${number})},\n     \"\\\"${digest}\\\"\"},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT}.new
  "// Made by embed_page.cmake.\n#include \"serve/page/page_assets.h\"\n\nnamespace verbatim::serve {\n${contents}"
  "static const PageAsset kPageAssetTable[] = {\n${table}};\n}  // namespace verbatim::serve\n")
file(RENAME ${OUTPUT}.new ${OUTPUT})
