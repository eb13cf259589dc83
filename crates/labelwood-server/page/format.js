// How numbers and names are written.

import { language, t } from "./texts.js";

const hundredths = new Intl.NumberFormat(language, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const whole = new Intl.NumberFormat(language);
const significant = new Intl.NumberFormat(language, { maximumSignificantDigits: 2 });
const languages = new Intl.DisplayNames(language, { type: "language" });
const signed = new Intl.NumberFormat(language, { maximumSignificantDigits: 2, signDisplay: "exceptZero" });

/** A probability with two digits. What is not certain is not written as 0 or 1. */
export function probability(value) {
  if (value > 0 && value < 0.005) return t("digits_low", { value: hundredths.format(0.01) });
  if (value < 1 && value >= 0.995) return t("digits_high", { value: hundredths.format(0.99) });
  return hundredths.format(value);
}

/** A score: a probability where it is one, else two digits that count. */
export function score(value, isProbability) {
  if (typeof value !== "number" || !Number.isFinite(value)) return "–";
  return isProbability ? probability(value) : significant.format(value);
}

/** What the language with this code is called. */
export function languageName(code) {
  try {
    return languages.of(code);
  } catch {
    return code;
  }
}

/** A contribution, with its sign. */
export function contribution(value) {
  return signed.format(value).replace("-", "−");
}

/** A number of which it is not known what it is: whole as it is, else with two digits. */
export function amount(value) {
  if (Number.isInteger(value)) return whole.format(value).replace("-", "−");
  return value > 0 && value < 1 ? probability(value) : hundredths.format(value).replace("-", "−");
}

/** What a label is called: its name, or else its code, or else its number. */
export function labelName(label) {
  return label.name || label.code || `#${label.id}`;
}

/** What identifies a label across models: its code, or else its name or number. */
export function labelCode(label) {
  return label.code || label.name || `${label.id}`;
}

/** `code` as an address to follow, if it is one of the web; other schemes could run scripts. */
export function webAddress(code) {
  return typeof code === "string" && /^https?:\/\/\S+$/i.test(code) ? code : null;
}

/** The bars' full width: 1 for probabilities, else the greatest of the scores. */
export function axis(scores, isProbability) {
  return isProbability ? 1 : Math.max(...scores.filter((value) => value > 0), 0) || 1;
}
