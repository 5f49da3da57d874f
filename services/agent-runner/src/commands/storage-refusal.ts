import { ServiceError } from "@switchyard/contracts/errors";
import { StorageFull } from "@switchyard/contracts/store-errors";
import type { Rejection } from "./run-command.ts";

/** The refusal of something new because there is no room for it, and whose room it is; null for any other error. */
export function storageRefusalOf(
  error: unknown,
): { readonly rejection: Rejection; readonly scope: StorageFull["scope"] } | null {
  if (!(error instanceof ServiceError) || error.code !== "storage_full") return null;
  const { code, message } = error;
  const { scope } = StorageFull.parse(error.data);
  return { rejection: { code, message, problems: [] }, scope };
}
