const refused = new WeakMap<Response, string>();

/** Remembers the token of a request that was answered with 401: another token may be in use since. */
export function noteRefusal(response: Response, headers: RequestInit["headers"]): void {
  const token = new Headers(headers).get("authorization")?.replace(/^Bearer /i, "");
  if (token !== undefined) refused.set(response, token);
}

/** The token that the server refused; null when the request had none. */
export function refusedToken(response: Response): string | null {
  return refused.get(response) ?? null;
}
