import { nkeys } from "@nats-io/transport-node";

/** A new NKey pair of a NATS user: the seed is the secret, the public key goes into the server's configuration. */
export function createUserKey(): { seed: string; publicKey: string } {
  const pair = nkeys.createUser();
  return { seed: new TextDecoder().decode(pair.getSeed()), publicKey: pair.getPublicKey() };
}
