import type { CallPermissions } from "@switchyard/topology/call-permissions";
import { filterOf, type Rpc } from "@switchyard/contracts/define";
import type { Arrival } from "./arrival.ts";

/** An endpoint that services of its process reach without NATS. */
export interface LocalEndpoint {
  /** The NATS user of its service. */
  readonly user: string;
  readonly contract: Rpc;
  /** The subjects that it serves, with a `*` for each token that is not fixed. */
  readonly filter: string;
  /** Begins a request and returns true; returns false and does nothing when it is full or stopping. */
  offer(arrival: Arrival): boolean;
}

const ANY_CALLER = "yard.rpc.*";

/**
 * The endpoints of one process, for all of its buses. The host of the services makes it and gives it to each bus. It only has endpoints that
 * the generated permissions let a service serve, and only finds those that they let a caller call: everything else is for
 * nats-server to answer.
 */
export class LocalServices {
  readonly #permissions: CallPermissions;
  readonly #endpoints = new Map<string, LocalEndpoint[]>();
  readonly #callable = new WeakMap<Rpc, Map<string, boolean>>();

  constructor(permissions: CallPermissions) {
    this.#permissions = permissions;
  }

  add(endpoint: LocalEndpoint): void {
    if (!this.#permissions.mayServe(endpoint.user, endpoint.contract)) return;
    const others = this.#endpoints.get(endpoint.filter) ?? [];
    this.#endpoints.set(endpoint.filter, [...others, endpoint]);
  }

  remove(endpoint: LocalEndpoint): void {
    const others = this.#endpoints.get(endpoint.filter)?.filter((other) => other !== endpoint);
    if (others === undefined || others.length === 0) this.#endpoints.delete(endpoint.filter);
    else this.#endpoints.set(endpoint.filter, others);
  }

  /** The endpoints that a user's request on this subject may go to. */
  find(user: string, contract: Rpc, subject: string): readonly LocalEndpoint[] {
    if (this.#endpoints.size === 0 || !this.#mayCall(user, contract)) return NONE;
    // An endpoint has fixed all tokens behind the caller's, or none.
    const fixed = ANY_CALLER + subject.slice("yard.rpc.".length + user.length);
    return this.#endpoints.get(fixed) ?? this.#endpoints.get(filterOf(contract)) ?? NONE;
  }

  #mayCall(user: string, contract: Rpc): boolean {
    let users = this.#callable.get(contract);
    if (users === undefined) this.#callable.set(contract, (users = new Map()));
    let may = users.get(user);
    if (may === undefined) users.set(user, (may = this.#permissions.mayCall(user, contract)));
    return may;
  }
}

const NONE: readonly LocalEndpoint[] = [];
