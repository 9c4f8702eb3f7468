# The checks of a package that extends gptr: its manifest, the API that it asks for, its factory, and its code.

package_rows <- function(package, tokens) {
  target <- paste0("package:", package)
  row <- function(check, ok, message = "") check_row(target, check, ok, message)
  if (!nzchar(system.file(package = package))) {
    return(list(row("package.installed", FALSE, "no package of this name is installed")))
  }
  text <- manifest_text(package)
  manifest <- if (!is.null(text)) engine(.Call(wrap__manifest_read, text))
  rows <- c(
    list(row("package.installed", TRUE), manifest_row(package, text, row)),
    if (!is.null(text)) {
      list(row("manifest.valid", !length(manifest$problems), paste(unlist(manifest$problems), collapse = "; ")))
    },
    api_rows(manifest$api %||% description_field(package, "Config/gptr/api"), row),
    entry_rows(package, manifest, tokens, row)
  )
  if (tokens) rows <- c(rows, list(row("tokens.declarations", TRUE, paste(manifest$tokens %||% 0L, "tokens"))))
  found <- bare_identifiers(asNamespace(package))
  c(rows, list(row("code.identifiers", !length(found), paste(found, collapse = "; "))))
}

manifest_text <- function(package) {
  file <- system.file("gptr", "plugin.json", package = package)
  if (!nzchar(file)) return(NULL)
  text <- rawToChar(readBin(file, "raw", file.size(file)))
  Encoding(text) <- "UTF-8"
  if (validUTF8(text)) text else iconv(text, "UTF-8", "UTF-8", sub = "byte")
}

# A package may do without a manifest when its DESCRIPTION says that it is a plugin.
manifest_row <- function(package, text, row) {
  if (!is.null(text)) return(row("manifest.present", TRUE))
  declared <- tolower(description_field(package, "Config/gptr/plugin") %||% "") %in% c("true", "yes")
  row("manifest.present", declared, if (declared) {
    "DESCRIPTION says that it is a plugin"
  } else {
    "there is no inst/gptr/plugin.json, and no Config/gptr/plugin in DESCRIPTION"
  })
}

description_field <- function(package, field) {
  value <- utils::packageDescription(package, fields = field)
  if (is.na(value)) NULL else value
}

api_rows <- function(required, row) {
  if (is.null(required)) {
    return(list(row("api.declared", FALSE, "neither the manifest nor Config/gptr/api in DESCRIPTION names a version")))
  }
  met <- engine(.Call(wrap__api_satisfies, enc2utf8(required)))
  list(
    row("api.declared", TRUE, required),
    row("api.satisfied", met, if (met) "" else paste0("needs API ", required, ", this is ", format(gptr_api()$version)))
  )
}

entry_rows <- function(package, manifest, tokens, row) {
  if (is.null(manifest$entry)) return(NULL)
  factory <- tryCatch(exported_function(package, manifest$entry), error = function(e) e)
  if (!is.function(factory)) return(list(row("factory.exported", FALSE, one_message(factory))))
  c(list(row("factory.exported", TRUE)), factory_rows(factory, tokens, manifest$provides))
}

exported_function <- function(package, entry) {
  parts <- strsplit(entry, "::", fixed = TRUE)[[1L]]
  if (parts[[1L]] != package) stop(entry, " belongs to another package")
  if (!parts[[2L]] %in% getNamespaceExports(package)) stop(entry, " is not exported")
  value <- getExportedValue(package, parts[[2L]])
  if (!is.function(value)) stop(entry, " is not a function")
  value
}
