import { readSecretFile } from "@switchyard/service/secret-file";
import { StartError } from "@switchyard/service/start-error";
import { parseTokenKeys, type TokenCipher } from "./token-cipher.ts";

const SETTING = "YARD_MCP_TOKEN_KEY_FILE";

/** The keys of a file, in the form of YARD_MCP_TOKEN_KEY. Null where no file is named; rejects with a StartError. */
export async function readTokenKeyFile(path: string | undefined): Promise<TokenCipher | null> {
  if (path === undefined) return null;
  const text = await readSecretFile(path, SETTING);
  try {
    return parseTokenKeys(text);
  } catch (cause) {
    throw new StartError(`${SETTING}: ${path}: ${cause instanceof Error ? cause.message : ""}`, {
      hint: "make the file with: yard keys init --dir DIR",
      cause,
    });
  }
}
