import { natsAuthorization } from "@switchyard/topology/nats-config";
import { installedUsers as users, type BusUser } from "@switchyard/topology/topology";

/**
 * The permissions of every service, with the public keys left to variables that nats-server reads
 * from its environment, such as `$YARD_NKEY_POLICY`.
 */
export function natsAuthorizationFile(): string {
  const head = [
    "# Generated from libs/contracts by `npm run generate`; do not edit.",
    "# Include it in a nats-server configuration and set the variables to public NKeys:",
    ...users.map((user) => `#   ${variableOf(user)}`),
    "",
  ];
  return `${head.join("\n")}\n${natsAuthorization({
    users: users.map((user) => ({ user, nkey: `$${variableOf(user)}` })),
  })}`;
}

function variableOf(user: BusUser): string {
  return `YARD_NKEY_${user.name.toUpperCase().replaceAll("-", "_")}`;
}
