import { CliError } from "./cli-error.ts";

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * The stored form of a gateway's address, without a slash at its end. Throws `usage` for an invalid one, and for one that a key
 * would be sent to in the clear.
 */
export function serverAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !["http:", "https:"].includes(url.protocol) || url.username !== "")
    throw new CliError(
      "usage",
      `${JSON.stringify(text.replace(/\/\/.*@/, "//…@"))} is not the address of a gateway`,
      {
        hint: "such as https://switchyard.example.com, without a user or a password",
      },
    );
  if (url.protocol === "http:" && !LOOPBACK.has(url.hostname))
    throw new CliError(
      "usage",
      `${text} is not encrypted, and everybody on the way could read the API key`,
      {
        hint: "use https://; without it only this machine can be reached, such as http://127.0.0.1:8321",
      },
    );
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}
