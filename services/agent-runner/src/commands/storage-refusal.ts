import { ServiceError } from "@switchyard/contracts/errors";
import { StorageFull } from "@switchyard/contracts/store-errors";
import type { Rejection } from "./run-command.ts";

/** The rejection of a command for lack of storage, and whose limit is reached; null for any other error. */
export function storageRefusalOf(
  error: unknown,
): { readonly rejection: Rejection; readonly scope: StorageFull["scope"] } | null {
  if (!(error instanceof ServiceError) || error.code !== "storage_full") return null;
  const { code, message } = error;
  const { scope } = StorageFull.parse(error.data);
  return { rejection: { code, message, problems: [] }, scope };
}
