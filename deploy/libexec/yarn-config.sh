# As hadoop-config.sh; scripts of operators source either.
. "$(dirname -- "${BASH_SOURCE[0]}")/hadoop-config.sh"
