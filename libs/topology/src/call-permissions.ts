import { filterOf, queueOf, type Rpc } from "@switchyard/contracts/define";
import { permissionsOf, type NatsPermissions } from "./nats-permissions.ts";
import { installedUsers } from "./topology.ts";

/** Decides about the requests of one process as nats-server would, from the permissions that are generated for nats-server. */
export interface CallPermissions {
  /** True when the user may send the contract's requests under its own name, whatever their other tokens are. */
  mayCall(user: string, contract: Rpc): boolean;
  /** True when the user may serve the contract in its queue group. */
  mayServe(user: string, contract: Rpc): boolean;
}

const NONE: NatsPermissions = { publish: [], subscribe: [] };

/** The permissions of the users that every installation has. Any other user may neither call nor serve. */
export function createCallPermissions(): CallPermissions {
  const known = new Map<string, NatsPermissions>();
  const ofUser = (name: string): NatsPermissions => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const user = installedUsers.find((installed) => installed.name === name);
    const permissions = user === undefined ? NONE : permissionsOf(user, installedUsers);
    known.set(name, permissions);
    return permissions;
  };
  return {
    mayCall(user, contract) {
      const requests = filterOf<string>(contract, { caller: user });
      return ofUser(user).publish.some((pattern) => covers(pattern, requests));
    },
    mayServe(user, contract) {
      const requests = filterOf(contract);
      const queue = queueOf(contract.name);
      return ofUser(user).subscribe.some((permission) => {
        const [pattern = "", permittedQueue] = permission.split(" ");
        const isOfQueue = permittedQueue === undefined || permittedQueue === queue;
        return isOfQueue && covers(pattern, requests);
      });
    },
  };
}

/** True when `pattern` matches every subject that `subjects` matches; both may have wildcards. */
function covers(pattern: string, subjects: string): boolean {
  const wanted = subjects.split(".");
  const words = pattern.split(".");
  for (const [index, word] of words.entries()) {
    if (word === ">") return wanted.length > index;
    if (word !== "*" && word !== wanted[index]) return false;
  }
  return words.length === wanted.length;
}
