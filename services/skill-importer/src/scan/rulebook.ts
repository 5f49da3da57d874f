import type { Indicators } from "./indicators.ts";
import { CREDENTIAL_HINTS } from "./credentials.ts";
import { patternScan, type PatternScan } from "./pattern-rule.ts";
import { destinationsOf } from "./destinations.ts";
import { patternRules } from "./read-rules.ts";
import { dataTheft } from "./rules/data-theft.ts";
import { encodedExecution } from "./rules/encoded-execution.ts";
import { hiddenByBlanks } from "./rules/hidden-by-blanks.ts";
import { hiddenUnicode } from "./rules/hidden-unicode.ts";
import { hiddenInstructions, weighsComment } from "./rules/injection.ts";
import { knownBadFiles, leadsToKnownBad } from "./rules/known-bad.ts";
import { inImage } from "./rules/leaks.ts";
import { luresIn } from "./rules/lures.ts";
import { PERSISTENCE } from "./rules/persistence.ts";
import { remoteExecution } from "./rules/remote-execution.ts";
import { reverseShells } from "./rules/reverse-shells.ts";
import { SECRETS } from "./rules/secrets.ts";
import type { ScannedText } from "./scanned-text.ts";

export type Rulebook = ReturnType<typeof rulebookOf>;

/** All rules about texts and files, with what is known of destinations. Builds the tables once, for all skills. */
export function rulebookOf(indicators: Indicators) {
  const destinations = destinationsOf(indicators);
  const drops = [...indicators.pasteHosts, ...indicators.catchHosts];
  const known = indicators.places.map(({ place }) => place);
  const rules = patternRules({
    checks: {
      ...remoteExecution(destinations),
      ...encodedExecution(destinations),
      ...reverseShells(destinations),
      ...dataTheft(destinations),
      leadsToKnownBad: leadsToKnownBad(destinations),
      ...PERSISTENCE,
      ...SECRETS,
      inImage,
      weighsComment,
    },
    hints: {
      dropHosts: drops.filter(isLongEnough),
      credentialFiles: CREDENTIAL_HINTS,
      knownPlaces: known.filter(isLongEnough),
    },
  });
  const scanPatterns = patternScan(rules);
  return {
    scanText(text: ScannedText): ReturnType<PatternScan> {
      const { findings, leftOut } = scanPatterns(text);
      return {
        findings: [
          ...findings,
          ...hiddenUnicode(text),
          ...hiddenByBlanks(text),
          ...hiddenInstructions(text),
          ...luresIn(text, destinations),
        ],
        leftOut,
      };
    },
    scanFiles: knownBadFiles(indicators),
  };
}

/** A shorter hint would be tried nearly everywhere. */
function isLongEnough(hint: string): boolean {
  return hint.length >= 4;
}
