import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { writeSecret } from "./secret-files.ts";

const TOKEN_BYTES = 32;

/** The file of the token with which the person of this laptop is `cli` over HTTP. */
export function laptopTokenFile(keys: string): string {
  return join(keys, "laptop.token");
}

/** Each start makes a new token, which voids the one before. */
export async function makeLaptopToken(keys: string): Promise<string> {
  const file = laptopTokenFile(keys);
  await writeSecret(file, `yd_${randomBytes(TOKEN_BYTES).toString("base64url")}`);
  return file;
}
