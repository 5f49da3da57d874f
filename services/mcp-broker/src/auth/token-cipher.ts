import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { createKeyedDigest, type KeyedDigest } from "./keyed-digest.ts";

/** Encrypts what Redis keeps of logins. */
export interface TokenCipher {
  /** `place` is bound to the text, so that one cannot be put in the place of another. */
  readonly seal: (text: string, place: string) => string;
  /** Throws TokenKeyError when no key opens it. */
  readonly open: (sealed: string, place: string) => string;
  /** With the key that encrypts, so that all brokers with the same setting agree. */
  readonly digest: KeyedDigest;
}

/** A login is kept, and no key of the setting opens it. */
export class TokenKeyError extends Error {
  override readonly name = "TokenKeyError";
}

export const TOKEN_KEY_SETTING = "YARD_MCP_TOKEN_KEY";

const ALGORITHM = "aes-256-gcm";
const VERSION = "v1";
const KEY_BYTES = 32;
const IV_BYTES = 12;
const HOW_TO = "make one with: openssl rand -base64 32";

/**
 * Reads the setting: keys of 32 bytes in base64 or hex, with commas. The first encrypts, all of
 * them open, so a new one is put in front and the old one taken out later. Null for an empty setting.
 */
export function parseTokenKeys(setting: string): TokenCipher | null {
  const texts = setting
    .split(",")
    .map((text) => text.trim())
    .filter((text) => text !== "");
  const keys = texts.map((text, index) => readKey(text, index));
  const [first] = keys;
  return first === undefined ? null : createTokenCipher(first, keys);
}

interface TokenKey {
  readonly id: string;
  readonly bytes: Buffer;
}

/** The key itself stands in no text: a setting that is wrong by one character is still a secret. */
function readKey(text: string, index: number): TokenKey {
  const bytes = Buffer.from(text, /^[0-9a-f]{64}$/i.test(text) ? "hex" : "base64");
  if (bytes.length !== KEY_BYTES)
    throw new Error(`key ${index + 1} has no ${KEY_BYTES} bytes in base64 or hex; ${HOW_TO}`);
  return { id: createHash("sha256").update(bytes).digest("hex").slice(0, 8), bytes };
}

function createTokenCipher(first: TokenKey, keys: readonly TokenKey[]): TokenCipher {
  return {
    digest: createKeyedDigest(first.bytes),
    seal(text, place) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(ALGORITHM, first.bytes, iv).setAAD(Buffer.from(place));
      const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
      const parts = [iv, cipher.getAuthTag(), sealed].map((part) => part.toString("base64url"));
      return [VERSION, first.id, ...parts].join(".");
    },
    open(sealed, place) {
      const [version, id, ...parts] = sealed.split(".");
      const key = version === VERSION ? keys.find((each) => each.id === id) : undefined;
      if (key === undefined)
        throw new TokenKeyError(
          `a login was kept with a key that ${TOKEN_KEY_SETTING} does not name; add that key behind the first, or log in again with yard mcp login`,
        );
      const [iv, tag, text] = parts.map((part) => Buffer.from(part, "base64url"));
      try {
        const decipher = createDecipheriv(ALGORITHM, key.bytes, iv ?? Buffer.alloc(IV_BYTES))
          .setAAD(Buffer.from(place))
          .setAuthTag(tag ?? Buffer.alloc(16));
        return Buffer.concat([
          decipher.update(text ?? Buffer.alloc(0)),
          decipher.final(),
        ]).toString();
      } catch (cause) {
        throw new TokenKeyError(
          "a kept login was changed and cannot be opened; log in again with yard mcp login",
          { cause },
        );
      }
    },
  };
}
