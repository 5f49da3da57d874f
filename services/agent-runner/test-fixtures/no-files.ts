import type { FileStore } from "../src/context/file-store.ts";

/** The file store of tests whose runs have no files. */
export const noFiles: FileStore = {
  put: () => Promise.reject(new Error("no file is stored here")),
  find: (refs) => Promise.resolve(refs.map(() => null)),
  read: () => Promise.resolve(null),
};
