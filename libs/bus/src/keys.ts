import { nkeyAuthenticator, nkeys, type Authenticator } from "@nats-io/transport-node";

/** A new NKey pair of a NATS user: the seed is the secret, the public key goes into the server's configuration. */
export function createUserKey(): { seed: string; publicKey: string } {
  const pair = nkeys.createUser();
  return { seed: new TextDecoder().decode(pair.getSeed()), publicKey: pair.getPublicKey() };
}

/** True for the NKey seed of a NATS user, with or without white space around it. */
export function isUserSeed(text: string): boolean {
  try {
    return nkeys.fromSeed(encoded(text)).getPublicKey().startsWith("U");
  } catch {
    return false;
  }
}

/**
 * Logs in with `seed`, and at the next connect with what `read` gave meanwhile: the client asks for an answer
 * at once, while reading takes its time. A seed that cannot be read, or is none, leaves the last one in use.
 */
export function seedAuthenticator(
  seed: string,
  read: () => string | Promise<string>,
): Authenticator {
  let current = seed;
  const refresh = async (): Promise<void> => {
    const next = await read();
    if (isUserSeed(next)) current = next;
  };
  return (nonce) => {
    const login = nkeyAuthenticator(encoded(current))(nonce);
    void refresh().catch(() => {}); // it is read again at the next connect
    return login;
  };
}

function encoded(seed: string): Uint8Array {
  return new TextEncoder().encode(seed.trim());
}
