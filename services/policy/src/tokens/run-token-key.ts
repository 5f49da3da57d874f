import { stat } from "node:fs/promises";
import { join } from "node:path";
import { PublicJwk } from "@switchyard/audit/audit-keys";
import { KEYS_SETTING } from "@switchyard/service/keys-directory";
import { readSecretFile } from "@switchyard/service/secret-file";
import { StartError } from "@switchyard/service/start-error";
import { z } from "zod";

export interface RunTokenKeys {
  /** The newest first. */
  readonly keys: readonly {
    readonly privateJwk: string;
    /** The private key's JWK without its secret part. */
    readonly publicJwk: string;
  }[];
  /** Public halves of keys that signed before: the audit stores their signatures for as long as it is kept. */
  readonly retired: readonly PublicJwk[];
  /** True when others than the owner may read or write the file. */
  readonly isExposed: boolean;
  /** The time at which the file was written, in milliseconds since the Unix epoch. */
  readonly changedAt: number;
}

/** RFC 8037: an Ed25519 private key. Members that do not describe the key, such as `kid`, are left out. */
const PrivateJwk = z.object({
  kty: z.literal("OKP"),
  crv: z.literal("Ed25519"),
  x: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
  d: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
});

/** The file of the keys. Throws a StartError when no directory is named: without this key no run gets a token. */
export function runTokenKeyFile(directory: string | undefined): string {
  if (directory !== undefined) return join(directory, "run-token.jwk");
  throw new StartError(`${KEYS_SETTING} is required`, {
    hint: "name the directory that this makes: yard keys init --dir DIR",
  });
}

/** Reads the keys of run tokens. Throws a StartError, which never shows the content, when they are missing or no such keys. */
export async function readRunTokenKeys(path: string): Promise<RunTokenKeys> {
  const text = await readSecretFile(path, KEYS_SETTING);
  const { mode, mtimeMs, uid } = await stat(path);
  return {
    keys: parsePrivateJwks(text, path).map((jwk) => ({
      privateJwk: JSON.stringify(jwk),
      publicJwk: publicText(jwk),
    })),
    retired:
      z.object({ retired: z.array(PublicJwk) }).safeParse(parseJson(text)).data?.retired ?? [],
    isExposed: isOpenToOthers({ mode, uid }, process.getuid?.()),
    changedAt: mtimeMs,
  };
}

/**
 * True when other users can read the file. In a container it belongs to root and the process, another user, reads it through its
 * group, which is intended.
 */
export function isOpenToOthers(
  { mode, uid }: { readonly mode: number; readonly uid: number },
  ownUid: number | undefined,
): boolean {
  return (mode & (uid === ownUid ? 0o077 : 0o037)) !== 0;
}

function publicText({ d: _secret, ...publicJwk }: z.infer<typeof PrivateJwk>): string {
  return JSON.stringify(publicJwk);
}

/** Parses one key, or a JWK set (RFC 7517) with the newest key first and former ones behind it; `retired` is a member beside `keys`. */
function parsePrivateJwks(
  text: string,
  path: string,
): [z.infer<typeof PrivateJwk>, ...z.infer<typeof PrivateJwk>[]] {
  const content = parseJson(text);
  const set = z.object({ keys: z.tuple([PrivateJwk], PrivateJwk) }).safeParse(content);
  if (set.success) return set.data.keys;
  const parsed = PrivateJwk.safeParse(content);
  if (parsed.success) return [parsed.data];
  throw new StartError(`${KEYS_SETTING}: ${path} holds no private Ed25519 key in JWK form`, {
    hint: "make it with `yard keys init --dir DIR`: a JSON file with kty OKP, crv Ed25519, x and d (RFC 8037)",
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
