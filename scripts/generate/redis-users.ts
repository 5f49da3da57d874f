import { redisAcl } from "@switchyard/topology/redis-acl";

/**
 * Writes the permissions of each service in Redis. An access-list file has no comments and no variables, so it is
 * as the server reads it: no user can log in before an operator has set passwords.
 */
export function redisUsersFile(): string {
  return redisAcl({ passwordHashes: new Map() });
}
