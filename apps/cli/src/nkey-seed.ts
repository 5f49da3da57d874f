import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isUserSeed } from "@switchyard/bus/keys";
import { CliError } from "./cli-error.ts";

export function seedFile(directory: string, user: string): string {
  return join(directory, `${user}.nk`);
}

/** Reads the seed of one user. The error names the command that makes it. */
export async function readSeed(file: string): Promise<string> {
  const seed = await readFile(file, "utf8").catch((error: unknown) => {
    throw new CliError("forbidden", `the key ${file} cannot be read`, {
      hint: "make keys with ./yard keys init --dir DIR, or name one with YARD_NATS_NKEY_FILE",
      cause: error,
    });
  });
  if (isUserSeed(seed)) return seed.trim();
  throw new CliError("forbidden", `${file} holds no NKey seed of a user`, {
    hint: "a seed is one line that begins with SU; ./yard keys init --dir DIR makes them",
  });
}
