import { permissionsOf } from "./nats-permissions.ts";
import type { BusUser } from "./topology.ts";

/** A bus user and the public NKey it authenticates with, or a `$VARIABLE` that nats-server reads from its environment. */
export interface AuthorizedUser {
  readonly user: BusUser;
  readonly nkey: string;
}

/**
 * The `authorization` block of a nats-server configuration: one NKey user for each entry, with the
 * permissions that follow from the contracts and nothing else.
 *
 * `anonymous` adds a user for clients without credentials (nats-server's `no_auth_user`); it is for
 * a server on loopback only.
 */
export function natsAuthorization(options: {
  users: readonly AuthorizedUser[];
  anonymous?: BusUser;
}): string {
  const everyone = options.users.map((entry) => entry.user);
  if (options.anonymous !== undefined) everyone.push(options.anonymous);

  const blocks = options.users.map(({ user, nkey }) => userBlock(user, `nkey: ${nkey}`, everyone));
  if (options.anonymous !== undefined) {
    // nats-server requires credentials even for the user of clients without any.
    const { name } = options.anonymous;
    blocks.push(userBlock(options.anonymous, `user: ${name}, password: ${name}`, everyone));
  }
  const noAuthUser =
    options.anonymous === undefined ? "" : `no_auth_user: ${options.anonymous.name}\n`;
  return `${noAuthUser}authorization {\n  users: [\n${blocks.join("\n")}\n  ]\n}\n`;
}

function userBlock(user: BusUser, identity: string, everyone: readonly BusUser[]): string {
  const { publish, subscribe } = permissionsOf(user, everyone);
  return [
    `    # ${user.name}: ${user.description}`,
    `    {`,
    `      ${identity}`,
    `      permissions: {`,
    `        publish: { allow: [`,
    ...publish.map((subject) => `          "${subject}"`),
    `        ] }`,
    `        subscribe: { allow: [`,
    ...subscribe.map((subject) => `          "${subject}"`),
    `        ] }`,
    `      }`,
    `    }`,
  ].join("\n");
}
