import { cutForReader } from "@switchyard/contracts/cut-text";
import { CliError } from "./cli-error.ts";
import { printableLine } from "./printable.ts";

/** The parameters of the redirect address that the broker needs. */
export interface LoginAnswer {
  readonly code: string;
  /** The issuer that the redirect names (RFC 9207). */
  readonly iss?: string;
}

/** Reads the address that a browser came back to. Throws when it is another login's, or a refusal. */
export function loginAnswer(url: URL, state: string): LoginAnswer {
  const given = url.searchParams;
  if (given.get("state") !== state) {
    throw new CliError("login_expired", "the address belongs to another login", {
      hint: "begin again, and use the address that this command prints",
    });
  }
  const error = given.get("error");
  if (error !== null)
    throw new CliError(
      "denied",
      `the login was refused: ${cutForReader(printableLine(error), 100)}`,
    );
  const code = given.get("code");
  if (code === null) throw new CliError("usage", "the address has no code");
  const iss = given.get("iss");
  return iss === null ? { code } : { code, iss };
}
