package engine

import _ "sample/resourcemanager/store"
