image_mimes <- c(
  png = "image/png", jpg = "image/jpeg", jpeg = "image/jpeg", gif = "image/gif", webp = "image/webp"
)

image_sources <- c("plot", "file", "screenshot", "user", "mcp")

# Image blocks of what `gptr_tool_result(images = )` takes: paths, raw vectors, blocks, or a list of those.
image_blocks <- function(images) {
  if (is.null(images)) {
    return(list())
  }
  if (is.raw(images) || is_block(images)) {
    images <- list(images)
  }
  if (is.object(images) || !(is.list(images) || is.character(images))) {
    abort_images(images)
  }
  unname(do.call(c, lapply(images, one_image)))
}

# A list of one block for an image, or of one for each path.
one_image <- function(image) {
  if (is.character(image)) {
    return(lapply(image, image_from_file))
  }
  if (is.raw(image) && length(image)) {
    return(list(image_block(image, "image/png", "plot")))
  }
  if (is_block(image)) {
    return(list(checked_image(image)))
  }
  abort_images(image)
}

image_from_file <- function(path) {
  mime <- image_mimes[tolower(tools::file_ext(path))]
  if (is.na(path) || is.na(mime) || !file.exists(path) || dir.exists(path)) {
    abort_images(path)
  }
  bytes <- readBin(path, "raw", file.size(path))
  if (!length(bytes)) {
    abort_images(path)
  }
  image_block(bytes, mime[[1L]], "file")
}

image_block <- function(bytes, mime, source) {
  block <- list(type = "image", mime = mime, data = engine(.Call(wrap__base64, bytes)), source = source)
  c(block, png_size(bytes))
}

png_start <- as.raw(c(0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A))

# Width and height stand at fixed places of a png file's first chunk; an empty list when the bytes are no png file.
png_size <- function(bytes) {
  if (length(bytes) < 24L || !identical(bytes[1:8], png_start)) {
    return(list())
  }
  size <- suppressWarnings(readBin(bytes[17:24], "integer", 2L, size = 4L, endian = "big"))
  if (anyNA(size) || any(size < 1L)) list() else list(width = size[[1L]], height = size[[2L]])
}

is_block <- function(x) {
  is.list(x) && !is.object(x) && identical(x[["type"]], "image")
}

# A block that came ready made; `source` is "user" when it doesn't say.
checked_image <- function(block) {
  if (is.null(block[["source"]])) {
    block[["source"]] <- "user"
  }
  ok <- is_one_of(block[["mime"]], image_mimes) && is_one_of(block[["source"]], image_sources) &&
    is_base64(block[["data"]]) && is_side(block[["width"]]) && is_side(block[["height"]])
  if (!ok) {
    abort_images(block)
  }
  fields <- c("type", "mime", "data", "source", "width", "height")
  unclass(block)[intersect(fields, names(block))]
}

is_one_of <- function(x, values) {
  is.character(x) && length(x) == 1L && x %in% values
}

is_base64 <- function(x) {
  is.character(x) && length(x) == 1L && !is.na(x) && nchar(x, "bytes") %% 4L == 0L &&
    grepl("^[A-Za-z0-9+/]+={0,2}\\z", x, perl = TRUE, useBytes = TRUE)
}

is_side <- function(x) {
  is.null(x) || (is_finite_number(x) && x >= 1 && x == trunc(x))
}

abort_images <- function(x) {
  abort_argument(
    "images", "image blocks, paths of png, jpg, jpeg, gif or webp files, raw png vectors, or a list of those", x
  )
}
