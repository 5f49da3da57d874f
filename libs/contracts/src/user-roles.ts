import { z } from "zod";
import { matchesGlob } from "./glob.ts";

/**
 * The rights of a person or program over HTTP. `viewer` reads; `operator` also runs agents and calls tools; `approver` reads and decides
 * about waiting calls; `admin` does all of it and changes the policy, servers, skills and keys.
 */
export const UserRole = z.enum(["viewer", "operator", "approver", "admin"]);
export type UserRole = z.infer<typeof UserRole>;

/** For each required role, the roles of which one is enough. */
const COVERED_BY: Readonly<Record<UserRole, readonly UserRole[]>> = {
  viewer: ["viewer", "operator", "approver", "admin"],
  operator: ["operator", "admin"],
  approver: ["approver", "admin"],
  admin: ["admin"],
};

/** Contracts that the scope of another one includes: over HTTP the events of a run have always needed `runs.get`. */
const INCLUDED_IN: Readonly<Record<string, string>> = { "runs.events": "runs.get" };

/** Names of contracts, with `*`, that a credential is limited to, such as `runs.*`. */
export const UserScope = z
  .string()
  .regex(/^[a-z0-9.*-]{1,64}$/, "must be the name of a contract, such as runs.get or runs.*");

/** The rights of a user's credential. */
export interface UserRights {
  readonly roles: readonly UserRole[];
  /** Missing: everything that the roles allow. */
  readonly scopes?: readonly string[] | undefined;
}

/** True when one of the roles includes `needed`. */
export function hasRole(roles: readonly UserRole[], needed: UserRole): boolean {
  return roles.some((role) => COVERED_BY[needed].includes(role));
}

/** True for the NATS users that a setting names as admins, and over HTTP for users with the role. */
export function isAdmin(
  named: readonly string[],
  { caller, roles }: { readonly caller: string; readonly roles: readonly UserRole[] },
): boolean {
  return named.includes(caller) || hasRole(roles, "admin");
}

/** The reason why a user may not use a contract over HTTP, as one sentence; null when it may. */
export function refusalOf(
  contract: { readonly name: string; readonly role: UserRole | null },
  { roles, scopes }: UserRights,
): string | null {
  const { name, role } = contract;
  if (role === null) return `${name} is not for people and programs`;
  if (!hasRole(roles, role))
    return `${name} needs the role ${role}, and this credential has ${roles.join(", ") || "none"}`;
  const names = [name, ...(Object.hasOwn(INCLUDED_IN, name) ? [INCLUDED_IN[name] ?? name] : [])];
  if (scopes !== undefined && !scopes.some((scope) => names.some((one) => matchesGlob(scope, one))))
    return `${name} is outside the scopes of this credential: ${scopes.join(", ") || "none"}`;
  return null;
}
