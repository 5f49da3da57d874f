const BASE = "http://gateway.invalid";

/** The path of this gateway that a person goes to after signing in; `/` for anything that leads elsewhere. */
export function returnPath(given: string | undefined): string {
  if (given === undefined || !given.startsWith("/") || given.length > 2_000) return "/";
  const url = URL.parse(given, BASE);
  if (url === null || url.origin !== BASE) return "/";
  const path = `${url.pathname}${url.search}${url.hash}`;
  // `/.//host` is `//host` by now, which is another host.
  return path.startsWith("//") ? "/" : path;
}
