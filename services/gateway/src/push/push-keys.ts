import { createSecretCipher, type SecretCipher } from "@switchyard/service/secret-cipher";
import { deriveVapidKey, type VapidKey } from "./vapid-key.ts";

/** The keys of web push, which all follow from `webhooks.key`. */
export interface PushKeys {
  /** Encrypts subscriptions. */
  readonly cipher: SecretCipher;
  /** The key of the first secret comes first; browsers that subscribed with another one stay subscribed. */
  readonly vapid: readonly [VapidKey, ...VapidKey[]];
}

/**
 * The contact of a gateway without an address of its own, which only browsers of its machine use. Mozilla's service needs one
 * (https://github.com/mozilla-services/autopush-rs/issues/361); Apple's refuses this one.
 */
const NO_CONTACT = "mailto:console@localhost";

/** Returns null without a secret. `address` is that of the gateway, for the push services' operators; null: it has none. */
export function createPushKeys(
  secrets: readonly Uint8Array[],
  address: string | null,
): PushKeys | null {
  const cipher = createSecretCipher(secrets);
  const [first, ...others] = secrets.map((secret) => deriveVapidKey(secret, address ?? NO_CONTACT));
  return cipher === null || first === undefined ? null : { cipher, vapid: [first, ...others] };
}
