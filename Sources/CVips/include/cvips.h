/* The calls of libvips that Errand makes, each with a fixed list of arguments. */
