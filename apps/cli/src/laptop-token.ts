import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { readSecret, writeSecret } from "./secret-files.ts";

const TOKEN_BYTES = 32;

/** The file of the token with which the person of this laptop is `cli` over HTTP. */
export function laptopTokenFile(keys: string): string {
  return join(keys, "laptop.token");
}

/** Makes the token at the first start of a project. It stays for the next ones, so that signed-in browsers and exported variables stay valid; removing the file revokes it. */
export async function ensureLaptopToken(keys: string): Promise<string> {
  const file = laptopTokenFile(keys);
  const there = await readSecret(file);
  if (there === null || there === "")
    await writeSecret(file, `yd_${randomBytes(TOKEN_BYTES).toString("base64url")}`);
  return file;
}
