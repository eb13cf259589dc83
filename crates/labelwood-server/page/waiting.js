// A line for the time until an answer comes.

import { button, fill, h, say } from "./dom.js";
import { t } from "./texts.js";

const SHOWN_AFTER = 300;
const LONG_AFTER = 5000;

/** Shows in `place` that something is asked for; gives what calls want as `waiting`, and `done` for when it is there. */
export function wait(place) {
  const line = (text) => fill(place, h("p", { class: "asking" }, h("span", { class: "dots", "aria-hidden": "true" }), text));
  const timers = [
    setTimeout(() => line(t("asking")), SHOWN_AFTER),
    setTimeout(() => { line(t("still_asking")); say(t("still_asking")); }, LONG_AFTER),
  ];
  let said = false;
  const stopTimers = () => timers.forEach(clearTimeout);
  return {
    waiting(seconds, now) {
      stopTimers();
      if (seconds === null) return line(t("asking"));
      const text = t("busy", { count: seconds });
      if (!said) say(text);
      said = true;
      const old = place.querySelector(".busy p");
      // Only the words change, so that the button keeps the focus.
      if (old) old.textContent = text;
      else fill(place, h("div", { class: "busy" }, h("p", {}, text), button(t("try_now"), now)));
    },
    done() {
      stopTimers();
      fill(place);
    },
  };
}
