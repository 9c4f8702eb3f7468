#!/bin/sh
# Makes sure that what a make target needs is there: tools/setup.sh demo|test|all
# R and R packages that are missing are installed by apt where apt exists and R is Debian's own (or absent); elsewhere
# the script says what to install. It never installs cargo: it says how.

level=${1:-test}
cd "$(dirname "$0")/.." || exit 1

# level, kind (a command or an R package), its name, Debian's package for it
needs() {
  cat <<'TABLE'
demo cmd R r-base-core
demo cmd gcc r-base-dev
demo cmd make r-base-dev
demo cmd python3 python3
test pkg testthat r-cran-testthat
test pkg knitr r-cran-knitr
test pkg withr r-cran-withr
test pkg callr r-cran-callr
test pkg processx r-cran-processx
test pkg jsonlite r-cran-jsonlite
test pkg rlang r-cran-rlang
test pkg cli r-cran-cli
all pkg rmarkdown r-cran-rmarkdown
all pkg roxygen2 r-cran-roxygen2
all pkg lintr r-cran-lintr
all cmd pandoc pandoc
TABLE
}

case $level in
  demo) levels=demo ;;
  test) levels='demo|test' ;;
  all) levels='demo|test|all' ;;
  *) echo "usage: tools/setup.sh demo|test|all" >&2; exit 2 ;;
esac

# The lines of the table that are not met, as "kind name package".
missing() {
  have_packages=
  if command -v Rscript >/dev/null 2>&1; then
    have_packages=$(Rscript --vanilla -e 'cat(rownames(utils::installed.packages()), sep = "\n")' 2>/dev/null)
  fi
  needs | grep -E "^($levels) " | while read -r _ kind name package; do
    if [ "$kind" = cmd ]; then
      command -v "$name" >/dev/null 2>&1 || echo "$kind $name $package"
    else
      printf '%s\n' "$have_packages" | grep -qx "$name" || echo "$kind $name $package"
    fi
  done
}

# Debian's R packages go with Debian's R only.
apt_fits() {
  command -v apt-get >/dev/null 2>&1 || return 1
  command -v R >/dev/null 2>&1 || return 0
  dpkg -S "$(command -v R)" >/dev/null 2>&1
}

say_what_to_install() {
  echo "gptr's '$level' needs what is not installed here:" >&2
  commands=$(printf '%s\n' "$gaps" | awk '$1 == "cmd" {print "  " $2}')
  packages=$(printf '%s\n' "$gaps" | awk '$1 == "pkg" {printf "%s\"%s\"", sep, $2; sep = ", "}')
  [ -n "$commands" ] && printf '%s\n' "$commands" >&2
  printf '%s\n' "$commands" | grep -q ' R$' && echo "  (R 4.2 or newer: https://cran.r-project.org)" >&2
  [ -n "$packages" ] && echo "  in R: install.packages(c($packages))" >&2
  exit 1
}

gaps=$(missing)
if [ -n "$gaps" ]; then
  apt_fits || say_what_to_install
  sudo=
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null 2>&1 || say_what_to_install
    sudo=sudo
  fi
  packages=$(printf '%s\n' "$gaps" | awk '{print $3}' | sort -u | tr '\n' ' ')
  echo "Installing by apt: $packages"
  log=$(mktemp)
  # shellcheck disable=SC2086 # the packages are words
  if ! { $sudo apt-get update -q &&
         $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $packages; } > "$log" 2>&1; then
    tail -n 30 "$log" >&2
    rm -f "$log"
    echo "apt could not install: $packages" >&2
    exit 1
  fi
  rm -f "$log"
  gaps=$(missing)
  [ -z "$gaps" ] || say_what_to_install
fi

if ! Rscript --vanilla -e 'quit(status = getRversion() < "4.2")' >/dev/null 2>&1; then
  echo "gptr needs R 4.2 or newer; this is $(R --version | head -n 1). See https://cran.r-project.org" >&2
  exit 1
fi

sh tools/find_cargo . > /dev/null
