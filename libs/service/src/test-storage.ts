import type { OwnerStorage } from "./owner-storage.ts";

/** For tests of something else: an owner may keep whatever it likes, and nothing is counted. */
export const endlessStorage: OwnerStorage = {
  isRedisFull: false,
  admit: () => Promise.resolve(),
  reserve: () => Promise.resolve(),
  set: () => {},
  add: () => {},
  lookUpWith: () => {},
  stop: () => Promise.resolve(),
};
