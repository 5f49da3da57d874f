/* oxlint-disable switchyard/plain-messages -- the phrases are those of attackers */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Span } from "./span.ts";

/**
 * Phrases that speak to a model and not to a reader. Each is bounded, so that none can be made slow. They are a net and no wall:
 * `docs/policy.md#inspectors` has the measured recall and false alarms.
 */

const GAP = String.raw`[\s,;:"'*_-]{1,4}`;
const FILL = String.raw`(?:(?:all|any|every|each|the|of|your|these|those|my|our|its|and|other|that|everything|whatever|what)${GAP}){0,5}`;
const BEFORE = String.raw`(?:previous|prior|above|earlier|preceding|existing|former|foregoing|initial|original|current|system|developer|safety)`;
const ORDERS = String.raw`(?:iu?nstructions?|prompts?|rules?|guidelines?|guidance|directives?|directions?|commands?|constraints?|context|orders?|polic(?:y|ies)|restrictions?|programming|training|tasks?|messages?|text|inputs?|assignments?|safeguards?|filters?)`;
const MODEL = String.raw`(?:ai|llm|language model|ai model|(?:ai |virtual )?assistants?|(?:ai )?agents?|chat ?bots?|gpt|chatgpt|claude|gemini|copilot)`;
const PERSON = String.raw`(?:users?|humans?|owner|operator|person|anyone|anybody|reader)`;
const INNER = String.raw`(?:system|initial|hidden|original|developer|internal|secret|pre-?)${GAP}?(?:prompts?|instructions?|messages?|rules|configuration)`;

const PHRASES: readonly string[] = [
  // Overrides of earlier instructions.
  String.raw`(?:ignore|disregard|forget|override|overrule|bypass|discard|dismiss|abandon|neglect|skip)${GAP}${FILL}(?:${BEFORE}${GAP}(?:(?!${ORDERS}\b)\w{1,20}${GAP}){0,2}${ORDERS}|${ORDERS}${GAP}(?:(?:that|which|you|were|have|been|are|is|given|received|told|so far|from)${GAP}){0,6}(?:above|before|previously|prior|earlier|until now|so far|up to now|from the (?:system|developer|user)|given))`,
  String.raw`(?:ignore|disregard|forget|override|bypass)${GAP}(?:all|any|every|your)${GAP}(?:of${GAP})?(?:the${GAP}|your${GAP}|these${GAP}|safety${GAP}|ethical${GAP}|content${GAP}|and${GAP}){0,2}(?:instructions|guidelines|rules|directives|restrictions|programming|training|polic(?:y|ies)|safeguards|filters|protocols|constraints)`,
  String.raw`(?:ignore|disregard|forget|delete|erase|drop)${GAP}(?:about${GAP})?(?:everything|anything|all|whatever)${GAP}(?:that${GAP})?(?:(?:was|is|came|has been|been|stated|written|said|listed|mentioned)${GAP}){0,3}(?:above|before|previously|prior|earlier|you(?:'ve| have)? (?:know|were|been|learned|read|got))\b`,
  String.raw`(?:do not|don['’]t|stop|no longer)${GAP}(?:follow|obey|comply with|adhere to|listen to|following|obeying)${GAP}${FILL}(?:${BEFORE}${GAP})?(?:(?!${ORDERS}\b)\w{1,20}${GAP})?(?:instructions|guidelines|directives|restrictions|orders|programming)`,
  String.raw`(?:${BEFORE})${GAP}(?:instructions|prompts?|directives|guidelines|orders|tasks?)${GAP}(?:(?:are|is|were|have been|has been|should be|must be|can be)${GAP})(?:now${GAP}|hereby${GAP}|all${GAP}){0,2}(?:ignored|void|cancell?ed|overrid\w{1,6}|obsolete|superseded|replaced|revoked|disregarded|no longer)`,
  // New instructions.
  String.raw`(?:here|these|this|below|following)${GAP}(?:are|is)${GAP}(?:your|the)${GAP}(?:new|real|actual|true|updated|only)${GAP}(?:\w{1,20}${GAP})?(?:instructions?|orders?|task|prompt|directives?|objective|goal|role|mission|rules)\b`,
  String.raw`(?:new|updated|revised|additional|secret|hidden|urgent|priority|real)${GAP}(?:system${GAP}|admin${GAP}|developer${GAP}|priority${GAP})?(?:instructions?|directives?|objective|prompt)\s?(?::|for (?:the )?${MODEL})`,
  String.raw`your${GAP}(?:new|real|actual|true|only|primary|next|first|main)${GAP}(?:task|instructions?|goal|objective|purpose|role|job|mission|orders?|directive|instruction|identity)${GAP}(?:now${GAP})?(?:is|are)\b`,
  String.raw`from now on,?\s{1,3}(?:you (?:are|will|must|should|shall|act|have|only|answer|respond|reply|can)|(?:answer|respond|reply|act|always|speak|only|ignore|treat|every)\b)`,
  // Roles without rules.
  String.raw`you(?:'re| are)${GAP}(?:now${GAP}|no longer${GAP})(?:an?${GAP}|in${GAP}|bound${GAP}|called${GAP}|the${GAP}|my${GAP}|going to${GAP}|free${GAP}|dan\b|unrestricted|jailbroken)`,
  String.raw`(?:act|behave|respond|roleplay|role-play|speak)${GAP}(?:as|like)${GAP}(?:if${GAP}you${GAP}(?:are|were|had|have)${GAP}|an?${GAP}|the${GAP})?(?:\w{1,20}${GAP}){0,2}(?:dan\b|unrestricted|uncensored|unfiltered|jailbroken|evil|amoral|without${GAP}(?:any${GAP})?(?:rules|restrictions|limits|limitations|filters|ethic\w{0,6}|moral\w{0,4})|no${GAP}(?:rules|restrictions|limits|limitations|filters|guidelines))`,
  String.raw`pretend${GAP}(?:to be (?:an?|the|my|someone)\b|you(?:'re| are| were| have| can)|that you(?:'re| are| have)?)\b`,
  String.raw`(?:enter|enable|activate|switch(?:ing)? (?:in)?to|entering|turn on|you are (?:now )?in|initiate|engage)${GAP}(?:the${GAP})?(?:"|')?(?:developer|god|admin|administrator|jailbreak|dan|unrestricted|sudo|root|override)${GAP}?mode`,
  String.raw`(?:developer|god|admin|jailbreak|dan|unrestricted|sudo|override)${GAP}?mode${GAP}(?:is${GAP}|has been${GAP}|now${GAP})?(?:enabled|activated|active|on|engaged|unlocked)\b`,
  String.raw`do anything now|\bjailbr(?:eak|oken)\b${GAP}(?:prompt|mode|yourself)`,
  // Concealment.
  String.raw`(?:do not|don['’]t|never|must not|should not|without)${GAP}(?:ever${GAP})?(?:tell|telling|inform|informing|mention|mentioning|reveal|revealing|notify|notifying|show|showing|alert|alerting|let|disclose|disclosing|report|reporting|warn|warning)${GAP}(?:(?:this|it|that|these|any of this|the above|anything|message|text|note|step)${GAP}){0,3}(?:to${GAP})?(?:the${GAP}|your${GAP}|any${GAP})?${PERSON}\b(?!${GAP}(?:to|that you (?:can|could)|how|when|if)\b)`,
  String.raw`(?:keep|hide|conceal)${GAP}(?:this|it|that|these|the${GAP}\w{1,20})${GAP}(?:(?:secret|hidden|confidential|a secret|instructions?|message|step|action|change)${GAP}){0,2}from${GAP}(?:the${GAP}|your${GAP})?${PERSON}\b`,
  String.raw`(?:do not|don['’]t|never)${GAP}(?:mention|reveal|disclose|refer to|acknowledge|discuss|report|quote)${GAP}(?:this|these|that|the(?:se)?)${GAP}(?:\w{1,20}${GAP})?(?:instructions?|message|prompt|note|step|request|action|email|transfer|call|text)\b`,
  // The prompt itself.
  String.raw`(?:reveal|print|output|repeat|show|display|send|leak|tell|give|share|recite|expose|dump|write|return|provide|translate|summari[sz]e|what (?:is|are|was|were))${GAP}(?:me${GAP}|us${GAP}|out${GAP}|back${GAP}|to me${GAP})?(?:all${GAP}|verbatim${GAP})?(?:of${GAP})?(?:your|the)${GAP}(?:(?:full|entire|complete|exact|whole|own|verbatim|current|very)${GAP}){0,2}${INNER}`,
  String.raw`(?:repeat|print|output|copy|echo|recite)${GAP}(?:all${GAP}|me${GAP}|back${GAP})?(?:of${GAP})?(?:the${GAP})?(?:words|text|everything|sentences|lines|content|conversation)${GAP}(?:that (?:is|are|was|were) )?(?:above|before this|preceding|so far)`,
  // Addressed to models.
  String.raw`(?:attention|note|notice|important|message|instructions?|reminder|hello|dear|hey|urgent|warning|to)[\s,:!*-]{1,4}(?:to${GAP}|for${GAP}|all${GAP}|any${GAP}|the${GAP}){0,3}${MODEL}(?:s)?(?:${GAP}(?:reading|processing|summari[sz]ing|that|who|which|viewing|parsing|analy[sz]ing|handling)\b|\s{0,2}[:,!])`,
  String.raw`if you(?:'re| are)${GAP}(?:an?${GAP}|the${GAP})(?:\w{1,20}${GAP}){0,2}${MODEL}\b[\s,]{1,3}(?:reading|processing|summari[sz]ing|then|you|please|do|ignore|send|call|say|add|include|reply|respond|write|recommend|rate|stop|\w{1,20}ing)\b`,
  String.raw`(?:as|being)${GAP}an?${GAP}(?:\w{1,20}${GAP})?${MODEL},?${GAP}(?:reading (?:this|these)|you (?:must|should|have to|are required to|need to)${GAP}(?:now|first|immediately|always|ignore|send|call|use|include|say|tell))`,
  String.raw`before${GAP}(?:you${GAP})?(?:answer(?:ing)?|respond(?:ing)?|continu(?:e|ing)|reply(?:ing)?|proceed(?:ing)?|do(?:ing)?|complet(?:e|ing)|help(?:ing)?|solv(?:e|ing)|finish(?:ing)?)${GAP}(?:(?:with|to|the|my|your|this|that|any|anything|else|original|user['’]?s?|question|request|task|query|i can|can)${GAP}){0,6}(?:you (?:must|need to|have to|should)|please|first|call|use|run|execute|send|read|forward|fetch)\b`,
  String.raw`this is an important message from\b|important instructions? (?:from|for) (?:me|the (?:user|system|developer|admin\w{0,10})|you)|(?:i am|i'm|this is) (?:the|your|an?) (?:user|system administrator|administrator|admin|developer|owner|creator|security team|openai|anthropic)\b[^.\n]{0,60}\b(?:authori[sz]\w{1,4}|need you to|order|instruct|require|command|you (?:must|should|can|may))`,
  String.raw`(?:user|admin(?:istrator)?|system|developer|operator)${GAP}(?:has|have)${GAP}(?:already${GAP}|pre-?|explicitly${GAP})?(?:authori[sz]ed|approved|consented|given (?:permission|consent|approval))${GAP}(?:\w{1,20}${GAP}){0,3}(?:this|all|any|transfer|access|action|request|you)\b`,
  // Theft of data.
  String.raw`(?:send|forward|e-?mail|post|upload|exfiltrate|transmit|leak|deliver|submit|append|encode|copy)${GAP}(?:(?:all|the|every|any|your|his|her|their|its|of|me|us|a|full|complete|entire|copy|user['’]?s?|customer['’]?s?|most|recent|latest|\d{1,4})${GAP}){0,6}(?:(?!(?:to|at)\b)[\w'’/-]{1,24}${GAP}){0,3}?(?:passwords?|credentials?|api keys?|tokens?|secrets?|conversation|chat history|chat log|system prompt|private (?:data|information|keys?|messages?)|personal (?:data|information)|contacts?|e-?mails|inbox|messages|security codes?|bank (?:details|account)|account (?:numbers?|details)|session cookies?|cookies?|database|medical records?|ssh keys?|environment variables|\.env)${GAP}(?:[^.\n]{0,40}${GAP})?(?:to|at|via)${GAP}(?:https?:\/\/|\S{1,64}@\S|(?:the${GAP})?(?:attacker|following (?:address|e-?mail|url|server)|this (?:address|e-?mail|url|server|number)|my (?:server|e-?mail|address)))`,
];

/** Forms of markup and of other languages, without a word boundary in front. */
const FORMS: readonly string[] = [
  String.raw`!\[[^\]\n]{0,80}\]\(https?:\/\/[^)\s]{1,200}(?:\{|%7b)[^)\s]{0,100}\)`,
  String.raw`<\|(?:im_start|im_end|system|user|assistant|endoftext|begin_of_text|start_header_id|eot_id)\|>|\[\/?inst\]|<<\/?sys>>|<(?:start|end)_of_turn>`,
  String.raw`(?:^|\n)\s{0,4}(?:#{1,6}|\*\*|\[|<|-{2,10}|={2,10})\s{0,2}\/?(?:(?:begin|end|start of|new|updated)\s)?(?:system|system (?:prompt|message|instructions?|override|update)|assistant|admin(?:istrator)? (?:override|message|instructions?)|instructions? for (?:the )?${MODEL})\s{0,2}(?:\]|>|:|-{2,10}|={2,10}|\*\*)`,
  String.raw`#{2,6}\s?\(system[ _]message\)`,
  String.raw`<\s?\/?\s?(?:important|system|secret|system_prompt|system-reminder|instructions?_override|admin)\s?>`,
  String.raw`\b(?:system|admin|security)\s?(?:override|notice|alert|message|command)\s?:\s{0,3}(?:you|ignore|the (?:user|assistant|ai)|all|disregard|please|execute|override|new|your|for)\b`,
  // German, French, Spanish, Portuguese, Italian, Dutch, Russian, Chinese, Japanese, Korean.
  String.raw`(?:ignorier(?:e|en sie|t)?|vergiss|vergessen sie|missachte)\s(?:\p{L}{1,20}\s){0,4}(?:vorherigen?|bisherigen?|obigen?|vorigen?|früheren?|vorangegangenen?|vorstehenden?|davor)\s?(?:\p{L}{1,20}\s){0,2}(?:anweisung(?:en)?|instruktion(?:en)?|regeln?|befehle?|vorgaben?|aufgaben?|eingaben?|gesagte|alles)?`,
  String.raw`(?:ignore[zr]?|oublie[zr]?)\s(?:\p{L}{1,20}\s){0,3}(?:instructions|consignes|directives|règles|ordres)\s(?:\p{L}{1,20}\s){0,2}(?:précédentes?|précédents?|antérieures?|ci-dessus|initiales?|données)`,
  String.raw`(?:ignor[ae]n?|olvid[ae]n?|desconsider[ae]|esque[çc][ae]|dimentica|negeer|vergeet)\s(?:\p{L}{1,20}\s){0,3}(?:instruc\p{L}{2,6}|instruç\p{L}{2,4}|istruzioni|indicaciones|órdenes|ordens|regras|reglas|regole|instructies|opdrachten)(?:\s(?:\p{L}{1,20}\s){0,2}(?:anteriores|previas|prévias|precedenti|acima|arriba|dadas))?`,
  String.raw`(?:игнорируй(?:те)?|забудь(?:те)?|отмени(?:те)?)\s(?:\p{L}{1,20}\s){0,3}(?:инструкци\p{L}{1,3}|указани\p{L}{1,3}|правил\p{L}{0,2}|команд\p{L}{0,2})`,
  String.raw`(?:忽略|无视|無視|忘记|忘記|不要理会)(?:\p{L}{0,8}?)(?:之前|以上|先前|所有|前面|上述|此前|一切|原有)(?:\p{L}{0,8}?)(?:指令|指示|说明|說明|提示|规则|規則|内容|内容|命令)`,
  String.raw`(?:以前の|これまでの|上記の|前の|すべての)(?:\p{L}{0,6}?)(?:指示|命令|プロンプト|ルール)(?:を|は)(?:すべて|全て)?(?:無視|忘れ)|(?:이전|위의|앞의|모든)\s?(?:의\s)?(?:\p{L}{1,6}\s)?(?:지시|명령|지침|규칙)\p{L}{0,3}\s?(?:\p{L}{1,6}\s)?(?:무시|잊)`,
];

/** V8 compiles a few patterns of some phrases in a fraction of the time that it needs for one of all. */
const TOGETHER = 3;
/** They search texts in lower case, because the flag `i` makes the search several times slower. */
const PATTERNS: readonly RegExp[] = [
  ...Array.from({ length: Math.ceil(PHRASES.length / TOGETHER) }, (_, index) =>
    PHRASES.slice(index * TOGETHER, (index + 1) * TOGETHER),
  ).map((phrases) => new RegExp(`\\b(?:${phrases.join("|")})`, "gu")),
  new RegExp(FORMS.join("|"), "gu"),
];

/** V8 compiles a pattern for its first search, and once more, to machine code, for the second one. */
const SEARCHES = 2;
let prepared = 0;

/**
 * Compiles the patterns, each in a turn of the event loop of its own, because all of them together take as long as many requests. Without it the
 * first search does it at once.
 */
export async function prepareInjections(): Promise<void> {
  while (prepared < PATTERNS.length * SEARCHES) {
    const pattern = PATTERNS[Math.floor(prepared / SEARCHES)];
    prepared += 1;
    // A search in a text that has no match goes through the whole pattern.
    pattern?.exec(PROBE);
    if (pattern !== undefined) pattern.lastIndex = 0;
    await nextTurn();
  }
}

const PROBE = "a line of some words. ";

/** The longest part of a line before and behind a phrase that belongs to it. */
const REACH = 400;

/** Finds phrases; each span is the line of the phrase, because a mask has to take the order with it. */
export function findInjections(text: string): Span[] {
  const lower = text.toLowerCase();
  // The lower case of a few letters is longer; positions have to stay.
  const searched =
    lower.length === text.length
      ? lower
      : text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
  const matches = PATTERNS.flatMap((pattern) => Array.from(searched.matchAll(pattern)));
  const lines = matches.map(({ 0: found, index }) => {
    const end = index + found.length;
    const before = text.slice(Math.max(0, index - REACH), index);
    const behind = text.slice(end, end + REACH);
    const next = behind.indexOf("\n");
    return {
      start: index - (before.length - 1 - before.lastIndexOf("\n")),
      end: end + (next < 0 ? behind.length : next),
    };
  });
  // Several phrases may be on one line.
  return [...new Map(lines.map((line) => [`${line.start} ${line.end}`, line])).values()];
}
