// Asks for what other numbers would change, part by part, and adds up what comes.

const place = document.querySelector("[data-parts]");
const progress = place.querySelector("progress");
const told = place.querySelector(".told");
const list = place.querySelector(".pictures");
const most = Number(place.dataset.most);
const all = Number(place.dataset.pictures);
const begun = performance.now();
const figure = (number) => number.toLocaleString("en-GB");

async function ask(behind) {
  const answer = await fetch(`${place.dataset.parts}&behind=${behind}`, { redirect: "error" });
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.json();
}

function add({ looked, kinds, items }) {
  progress.value += looked;
  for (const [kind, count] of Object.entries(kinds)) {
    const cell = place.querySelector(`[data-kind="${kind}"]`);
    const sum = Number(cell.dataset.sum ?? 0) + count;
    cell.dataset.sum = sum;
    cell.textContent = figure(sum);
  }
  list.insertAdjacentHTML("beforeend", items.slice(0, most - list.children.length).join(""));
  told.textContent = `${figure(progress.value)} of ${figure(all)} pictures`;
}

function end() {
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  told.textContent = `${figure(progress.value)} pictures tried in ${seconds} s.`;
  progress.hidden = true;
  place.querySelector(".none").hidden = list.children.length > 0;
  place.querySelector(".more").hidden = list.children.length < most;
  place.dataset.done = "";
}

/** Go on behind a row; what was added up stays when the server does not answer. */
async function goOn(behind) {
  try {
    for (let row = behind; row !== null; ) {
      const part = await ask(row);
      add(part);
      behind = row = part.through;
    }
    end();
  } catch {
    told.textContent = "The server does not answer, or you are signed out. ";
    const again = document.createElement("button");
    again.type = "button";
    again.className = "secondary";
    again.textContent = "Go on";
    again.addEventListener("click", () => {
      told.textContent = "Trying…";
      goOn(behind);
    });
    told.append(again);
  }
}

told.parentElement.hidden = false;
goOn(0);
