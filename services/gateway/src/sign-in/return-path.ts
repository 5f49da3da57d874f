const BASE = "http://gateway.invalid";

/** Returns the path of this gateway that a person goes to after signing in; `/` for any path that leads elsewhere. */
export function returnPath(given: string | undefined): string {
  if (given === undefined || !given.startsWith("/") || given.length > 2_000) return "/";
  const url = URL.parse(given, BASE);
  if (url === null || url.origin !== BASE) return "/";
  const path = `${url.pathname}${url.search}${url.hash}`;
  // Parsing turns `/.//host` into `//host`, which is another host.
  return path.startsWith("//") ? "/" : path;
}
