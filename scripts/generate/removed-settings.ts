import { REMOVED_SETTINGS } from "@switchyard/service/removed-settings";
import { stringify } from "yaml";

/** The removed settings for the chart, which refuses them before anything changes: some pods are stopped before the next ones start. */
export function removedSettingsFile(): string {
  const head = '# Generated from libs/service by "npm run generate"; do not edit.';
  return `${head}\n${stringify(REMOVED_SETTINGS, { lineWidth: 0 })}`;
}
