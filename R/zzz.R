# Nothing runs when the package is loaded: no thread, no file, no network. The engine is made at first use.

.onUnload <- function(libpath) {
  drop_unload_hooks()
  .Call(wrap__shutdown, 2)
  library.dynam.unload("gptr", libpath)
}
