/** A person has to log in before the server accepts the broker. The request was not carried out. */
export class LoginNeededError extends Error {
  override readonly name = "LoginNeededError";
  readonly code = "LOGIN_NEEDED";

  constructor(server: string, why: string) {
    super(`${why}; needs login: run yard mcp login ${server}`);
  }
}
