import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { writeSecret } from "./secret-files.ts";

const TOKEN_BYTES = 32;

/** Where the token is with which the person of this laptop is `cli` over HTTP. */
export function laptopTokenFile(keys: string): string {
  return join(keys, "laptop.token");
}

/** A new token at each start; the one of before is worth nothing then. */
export async function makeLaptopToken(keys: string): Promise<string> {
  const file = laptopTokenFile(keys);
  await writeSecret(file, `yd_${randomBytes(TOKEN_BYTES).toString("base64url")}`);
  return file;
}
