import {
  adminRedisUserName,
  monitorRedisUser,
  serviceRedisUsers,
  type RedisUser,
} from "./redis-access.ts";

/** Every user of Redis that gets a password of its own. */
export const redisUserNames: readonly string[] = [
  ...serviceRedisUsers.map((user) => user.name),
  monitorRedisUser.name,
  adminRedisUserName,
];

/**
 * The access list of a Redis server, in the form of its `aclfile`: the services, `monitor` and `admin`, and no client without credentials.
 * `passwordHashes` has the SHA-256 of each password, in hex; a user without one cannot log in until it gets one.
 *
 * `openDefault` leaves the user of clients without credentials as a bare server has it; it is for tests that read the server directly.
 */
export function redisAcl(options: {
  passwordHashes: ReadonlyMap<string, string>;
  openDefault?: boolean;
}): string {
  const { passwordHashes, openDefault = false } = options;
  const login = (name: string): string => {
    const hash = passwordHashes.get(name);
    return hash === undefined ? "on resetpass" : `on resetpass #${hash}`;
  };
  return [
    // No client can log in as `default` when it is off. Its rights stay, because the server replays the transactions of its append-only
    // file with them: without, a restart loses what they wrote.
    openDefault ? "user default on nopass ~* &* +@all" : "user default off resetpass ~* &* +@all",
    ...[...serviceRedisUsers, monitorRedisUser].map(
      (user) => `user ${user.name} ${login(user.name)} ${rulesOf(user)}`,
    ),
    `user ${adminRedisUserName} ${login(adminRedisUserName)} ~* &* +@all`,
    "",
  ].join("\n");
}

function rulesOf(user: RedisUser): string {
  return [
    "resetkeys",
    ...user.keys.map((pattern) => `~${pattern}`),
    ...user.readsKeys.map((pattern) => `%R~${pattern}`),
    "resetchannels",
    ...user.channels.map((pattern) => `&${pattern}`),
    "-@all",
    ...user.commands.map((command) => `+${command}`),
  ].join(" ");
}
