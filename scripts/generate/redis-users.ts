import { redisAcl } from "@switchyard/contracts/redis-acl";

/**
 * What each service may do in Redis. An access-list file has no comments and no variables, so it is
 * as the server takes it: nobody can log in before an operator has set passwords.
 */
export function redisUsersFile(): string {
  return redisAcl({ passwordHashes: new Map() });
}
