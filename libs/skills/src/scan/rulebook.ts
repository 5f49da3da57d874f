import type { Indicators } from "./indicators.ts";
import { CREDENTIAL_HINTS, CREDENTIAL_PLACES } from "./credentials.ts";
import { patternScan, type PatternFindings } from "./pattern-rule.ts";
import { destinationsOf } from "./destinations.ts";
import { flowsIn } from "./flow/flows.ts";
import type { PlainText } from "./plain/plain-text.ts";
import { patternRules } from "./read-rules.ts";
import { bareAddresses } from "./rules/bare-addresses.ts";
import { dataTheft } from "./rules/data-theft.ts";
import { disguises } from "./rules/disguises.ts";
import { encodedExecution } from "./rules/encoded-execution.ts";
import { hiddenByBlanks } from "./rules/hidden-by-blanks.ts";
import { hiddenUnicode } from "./rules/hidden-unicode.ts";
import { hiddenInstructions, weighsComment } from "./rules/injection.ts";
import { knownBadFiles, leadsToKnownBad } from "./rules/known-bad.ts";
import { inImage } from "./rules/leaks.ts";
import { luresIn } from "./rules/lures.ts";
import { PERSISTENCE } from "./rules/persistence.ts";
import { namesBareAddress, remoteExecution } from "./rules/remote-execution.ts";
import { reverseShells } from "./rules/reverse-shells.ts";
import { SECRETS } from "./rules/secrets.ts";
import type { ScannedText } from "./scanned-text.ts";

export type Rulebook = ReturnType<typeof rulebookOf>;

/** Builds all rules about texts and files, and the classification of destinations. The tables are built once, for all skills. */
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
      namesBareAddress: namesBareAddress(destinations),
      ...PERSISTENCE,
      ...SECRETS,
      inImage,
      weighsComment,
    },
    hints: {
      dropHosts: drops.filter(isLongEnough),
      credentialFiles: CREDENTIAL_HINTS,
      credentialPlaces: CREDENTIAL_PLACES,
      knownPlaces: known.filter(isLongEnough),
    },
  });
  const scanPatterns = patternScan(rules);
  return {
    scanText(text: ScannedText): PatternFindings {
      const { findings, ...rest } = scanPatterns(text);
      return {
        ...rest,
        findings: [
          ...findings,
          ...hiddenUnicode(text),
          ...hiddenByBlanks(text),
          ...hiddenInstructions(text),
          ...luresIn(text, destinations),
          ...bareAddresses(text, destinations),
        ],
      };
    },
    /** Scans the normalised text; the text as readers see it was scanned before. */
    scanPlain(text: PlainText): PatternFindings {
      const { findings, ...rest } = scanPatterns(text);
      return {
        ...rest,
        findings: [
          ...findings,
          ...luresIn(text, destinations),
          ...bareAddresses(text, destinations),
          ...disguises(text),
        ],
      };
    },
    scanFlows: (texts: readonly ScannedText[], places: ReadonlySet<string>) =>
      flowsIn(texts, { destinations, places }),
    scanFiles: knownBadFiles(indicators),
  };
}

/** A shorter hint would match nearly everywhere. */
function isLongEnough(hint: string): boolean {
  return hint.length >= 4;
}
