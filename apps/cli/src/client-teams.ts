import { readdir } from "node:fs/promises";
import { CallerName } from "@switchyard/contracts/ids";
import {
  anonymousUser,
  client,
  installedUsers,
  operatorUser,
  type BusUser,
} from "@switchyard/topology/topology";
import { OIDC_PREFIX } from "@switchyard/contracts/user-names";
import { CliError } from "./cli-error.ts";

const TAKEN = new Set([...installedUsers, operatorUser, anonymousUser].map(({ name }) => name));

/**
 * The client teams of a key directory, in the order of their names: those whose public key
 * (`team-a.pub`) lies there, and the `wanted` ones. A team that keeps its seed to itself is one of
 * which only the public key is there.
 */
export async function clientTeams(
  directory: string,
  wanted: readonly string[],
): Promise<readonly BusUser[]> {
  const known = (await readdir(directory))
    .filter((file) => file.endsWith(".pub"))
    .map((file) => file.slice(0, -".pub".length))
    .filter((name) => !TAKEN.has(name));
  return [...new Set([...known, ...wanted.map(checkedName)])]
    .toSorted()
    .map((name) => client(checkedName(name), "Client team"));
}

function checkedName(name: string): string {
  if (TAKEN.has(name)) {
    throw new CliError("usage", `the name ${name} is taken by Switchyard itself`, {
      hint: "choose another one, such as team-a",
    });
  }
  if (name.startsWith(OIDC_PREFIX)) {
    throw new CliError("usage", `the name ${name} could be that of a person of an issuer`, {
      hint: `choose one that does not begin with ${OIDC_PREFIX}, such as team-a`,
    });
  }
  if (!CallerName.safeParse(name).success) {
    throw new CliError("usage", `${JSON.stringify(name)} is not a valid name of a NATS user`, {
      hint: "a name has a-z, 0-9 and -, such as team-a",
    });
  }
  return name;
}
