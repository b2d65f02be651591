// The table is made of the files at build time (embed_page.cmake).
#include "serve/page/page_assets.h"

#include <algorithm>

#include "serve/page/page_asset_table.h"

namespace verbatim::serve {

std::span<const PageAsset> PageAssets() { return kPageAssetTable; }

const PageAsset* FindPageAsset(std::string_view path) {
  const auto found = std::ranges::find(kPageAssetTable, path, &PageAsset::path);
  return found == std::end(kPageAssetTable) ? nullptr : &*found;
}

}  // namespace verbatim::serve
