import { createHmac } from "node:crypto";
import { lostMaskText, maskText, type Finding } from "@switchyard/contracts/policy/findings";
import { ESSENTIAL } from "@switchyard/service/essential-write";
import type { OwnerStorage } from "@switchyard/service/owner-storage";
import type { Redis } from "@switchyard/service/redis";
import {
  createSecretCipher,
  SealError,
  type SecretCipher,
} from "@switchyard/service/secret-cipher";
import { fromRedis } from "@switchyard/service/store-error";

/** A value that is replaced by a mask. */
export interface MaskedValue {
  readonly kind: Finding;
  readonly value: string;
}

/** The run whose masks these are, and the user whose storage counts their values. */
export interface MaskOwner {
  readonly runId: string;
  readonly user: string;
}

/**
 * The values behind masks, encrypted, in Redis. Each value has one mask in its run, at all providers; another run cannot turn it back.
 * Redis deletes them with the run.
 */
export interface MaskStore {
  /** Returns a mask for each value. One that cannot be turned back stands for a value that was not stored. */
  mask(owner: MaskOwner | null, values: readonly MaskedValue[]): Promise<string[]>;
  /** Returns the values of those masks that the run has. Rejects with StoreError. */
  values(runId: string, masks: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** The log message of `onLost`. */
export const MASKS_LOST =
  "values could not be stored, so their masks cannot be turned back; the result has them";
/** The values that one run can get back. */
const MOST_MASKS = 1_000;
/** Masks are kept as long as a run after its last change (YARD_RUN_KEEP_DAYS, at its default). */
const KEPT_SECONDS = 30 * 24 * 60 * 60;
/** The key of a value, its digest and its number, beside the encrypted text. */
const VALUE_BYTES = 200;

/** Returns a number for each value, or 0 when the run has too many. ARGV: the most, the seconds, and for each value its kind, digest and text. */
const NUMBER = `${ESSENTIAL}
local numbers = {}
for i = 3, #ARGV, 3 do
  local known = redis.call('HGET', KEYS[1], ARGV[i] .. '=' .. ARGV[i + 1])
  if not known then
    known = 0
    if redis.call('HLEN', KEYS[1]) < 2 * ARGV[1] then
      known = redis.call('HINCRBY', KEYS[1], ARGV[i], 1)
      redis.call('HSET', KEYS[1], ARGV[i] .. '=' .. ARGV[i + 1], known, ARGV[i] .. ':' .. known, ARGV[i + 2])
    end
  end
  numbers[#numbers + 1] = tonumber(known)
end
redis.call('EXPIRE', KEYS[1], ARGV[2])
return numbers`;

/** Without a key no value is stored, and no mask can be turned back. `onLost` is called when values could not be stored. */
export function createMaskStore(options: {
  readonly redis: Redis;
  readonly keys: readonly Buffer[];
  readonly storage?: Pick<OwnerStorage, "add">;
  readonly onLost: (error: unknown) => void;
}): MaskStore {
  const { redis, keys, storage, onLost } = options;
  const cipher = createSecretCipher(keys);
  const [digestKey] = keys;

  const numbersOf = async ({ runId, user }: MaskOwner, values: readonly MaskedValue[]) => {
    if (cipher === null || digestKey === undefined) return [];
    const fields = values.flatMap(({ kind, value }) => [
      kind,
      createHmac("sha256", digestKey)
        .update(`${runId}\n${sameness(kind, value)}`)
        .digest("base64url"),
      cipher.seal(value, contextOf(runId)),
    ]);
    const run = redis.eval(NUMBER, 1, keyOf(runId), MOST_MASKS, KEPT_SECONDS, ...fields);
    const numbers = (await fromRedis(run)) as readonly number[]; // of the script above
    const bytes = fields.reduce((sum, field) => sum + field.length, VALUE_BYTES * values.length);
    storage?.add(user, bytes, KEPT_SECONDS * 1_000);
    return numbers;
  };

  return {
    async mask(owner, values) {
      if (values.length === 0) return [];
      const numbers =
        owner === null
          ? []
          : await numbersOf(owner, values).catch((error: unknown) => {
              onLost(error);
              return [];
            });
      return values.map(({ kind }, index) => {
        const number = numbers[index] ?? 0;
        return number === 0 ? lostMaskText(kind) : maskText(kind, number);
      });
    },
    async values(runId, masks) {
      if (masks.length === 0 || cipher === null) return new Map();
      const fields = masks.map((mask) => mask.slice(1, -1));
      const sealed = await fromRedis(redis.hmget(keyOf(runId), ...fields));
      return new Map(
        masks.flatMap((mask, index): [string, string][] => {
          const value = opened(cipher, sealed[index] ?? null, runId);
          return value === null ? [] : [[mask, value]];
        }),
      );
    },
  };
}

/** Null for a value that is not there, or whose key was taken out of the file. */
function opened(cipher: SecretCipher, sealed: string | null, runId: string): string | null {
  try {
    return sealed === null ? null : cipher.open(sealed, contextOf(runId));
  } catch (error) {
    if (error instanceof SealError) return null;
    throw error;
  }
}

/** The same number, however it is grouped, is the same value. */
function sameness(kind: Finding, value: string): string {
  if (kind === "secret" || kind === "injection") return value;
  return kind === "host" ? value.toLowerCase() : value.replaceAll(/[\s-]/g, "").toUpperCase();
}

function contextOf(runId: string): string {
  return `mask of a run: ${runId}`;
}

function keyOf(runId: string): string {
  return `yard:run:{${runId}}:masks`;
}
