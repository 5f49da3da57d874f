import { readCipherKeys } from "./secret-cipher.ts";
import { readSecretFile } from "./secret-file.ts";
import { StartError } from "./start-error.ts";

/** The keys of a file, as `readCipherKeys` takes them; none where no file is named. `variable` named it. Rejects with a StartError. */
export async function readCipherKeyFile(
  path: string | undefined,
  variable: string,
): Promise<Buffer[]> {
  if (path === undefined) return [];
  const text = await readSecretFile(path, variable);
  try {
    return readCipherKeys(text);
  } catch (cause) {
    throw new StartError(`${variable}: ${path}: ${cause instanceof Error ? cause.message : ""}`, {
      hint: "make the file with: yard keys init --dir DIR",
      cause,
    });
  }
}
