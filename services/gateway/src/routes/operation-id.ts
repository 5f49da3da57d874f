import { functionNameOf } from "@switchyard/contracts/registry";
import * as push from "./push-operations.ts";
import * as webhooks from "./webhook-operations.ts";
import type { Route } from "./route-table.ts";

const ownNames = new Map<unknown, string>(
  Object.entries({ ...push, ...webhooks }).map(([name, value]) => [value, name]),
);

/** Returns the id of a route's operation: its own, or the name under which its contract is exported, which begins with a verb. */
export function operationIdOf({ id, contract }: Route): string {
  const name = id ?? functionNameOf(contract) ?? ownNames.get(contract);
  if (name === undefined)
    throw new TypeError(`${contract.name} is exported by no module of contracts`);
  return name;
}
