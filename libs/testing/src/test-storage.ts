import type { OwnerStorage } from "@switchyard/service/owner-storage";

/** A storage that counts and refuses nothing, for tests of other parts. */
export const endlessStorage: OwnerStorage = {
  isRedisFull: false,
  admit: () => Promise.resolve(),
  reserve: () => Promise.resolve(),
  set: () => {},
  add: () => {},
  lookUpWith: () => {},
  stop: () => Promise.resolve(),
};
