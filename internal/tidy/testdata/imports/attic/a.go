package attic // want "package attic has no row"
