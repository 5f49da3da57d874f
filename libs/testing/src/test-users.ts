import { natsAuthorization } from "@switchyard/topology/nats-config";
import {
  anonymousUser,
  client,
  installedUsers,
  operatorUser,
  type BusUser,
} from "@switchyard/topology/topology";
import type { Bus } from "@switchyard/bus/bus";
import { createUserKey } from "@switchyard/bus/keys";
import { testBus } from "./test-bus.ts";

export interface TestUsers {
  /** The `authorization` block with every user of the topology. */
  readonly authorization: string;
  /** The seed of a user, for tests that log in with it under another name. */
  seedOf(user: string): string;
  /** A bus with the user's own key, so that the server's permissions hold. */
  connect(server: { readonly url: string }, user: string): Promise<Bus>;
}

/** Users with fresh keys: the `authorization` block that lets them in, and their seeds. */
export function usersWithKeys(users: readonly BusUser[]): {
  readonly authorization: string;
  /** Throws for a user that is not among them. */
  readonly seedOf: (name: string) => string;
} {
  const keys = new Map(users.map((user) => [user.name, { user, key: createUserKey() }]));
  return {
    authorization: natsAuthorization({
      users: [...keys.values()].map(({ user, key }) => ({ user, nkey: key.publicKey })),
    }),
    seedOf(name) {
      const found = keys.get(name);
      if (found === undefined) throw new Error(`no user ${name}`);
      return found.key.seed;
    },
  };
}

/** The users of the topology with fresh keys, and client teams of the given names. */
export function testUsers(teams: readonly string[] = []): TestUsers {
  const clients = teams.map((name) => client(name, "A team"));
  const users: BusUser[] = [...installedUsers, operatorUser, ...clients];
  const keys = new Map(users.map((user) => [user.name, createUserKey()]));
  const authorization = natsAuthorization({
    users: users.map((user) => ({ user, nkey: keys.get(user.name)?.publicKey ?? "" })),
    anonymous: anonymousUser,
  });
  return {
    authorization,
    seedOf: (user) => keys.get(user)?.seed ?? "",
    connect: (server, user) => {
      const seed = keys.get(user)?.seed;
      if (seed === undefined)
        return testBus(server, user, { inboxPrefix: anonymousUser.inboxPrefix });
      return testBus(server, user, { nkeySeed: () => seed });
    },
  };
}
