"use strict";
// Accuracy by hop at one checkpoint, from the numbers of the accuracy figure that the page carries in a link.
(() => {
  const view = document.getElementById("hops");
  if (!view) return;
  const link = document.getElementById(view.dataset.csv);
  const text = decodeURIComponent(link.href.slice(link.href.indexOf(",") + 1));
  const [head, ...lines] = text.trim().split("\n").map((line) => line.split(","));
  const rows = lines.map((cells) => Object.fromEntries(cells.map((cell, place) => [head[place], cell])));
  const distinct = (column) => [...new Set(rows.map((row) => row[column]))];
  const known = ["number", "letter"];
  const tasks = [...known.filter((task) => distinct("task").includes(task)), ...distinct("task").filter((task) => !known.includes(task))];
  const hops = distinct("hops").sort((a, b) => a - b);
  const steps = distinct("step").map(Number).sort((a, b) => a - b);
  const at = new Map(rows.map((row) => [`${row.task} ${row.hops} ${row.step}`, row]));
  const percent = (value) => `${Math.min(1, Math.max(0, Number(value))) * 100}%`;
  const make = (kind, parent, classes = "", content = "") => {
    const made = document.createElement(kind);
    if (classes) made.className = classes;
    made.textContent = content;
    return parent.appendChild(made);
  };

  const bars = [];
  const totals = [];
  for (const task of tasks) {
    const table = make("table", document.getElementById("hops-panels"));
    const caption = make("caption", table, "", `${task} task: `);
    totals.push({ task, shown: make("span", caption) });
    const heads = make("tr", make("thead", table));
    for (const name of ["hops", "accuracy, 0 to 1", "value"]) make("th", heads, "", name).scope = "col";
    const body = make("tbody", table);
    for (const hop of hops.filter((one) => at.has(`${task} ${one} ${steps[0]}`))) {
      const line = make("tr", body);
      make("th", line, "", hop === "1" ? "1 hop" : `${hop} hops`).scope = "row";
      const track = make("div", make("td", line, "bar"), "track");
      track.setAttribute("aria-hidden", "true");
      bars.push({ task, hop, fill: make("span", track, "fill"), band: make("span", track, "band") });
      const shown = make("td", line, "number");
      Object.assign(bars.at(-1), { mean: make("span", shown), interval: make("span", shown, "interval") });
    }
  }

  const slider = document.getElementById("hops-step");
  const now = document.getElementById("hops-now");
  const draw = () => {
    const step = steps[slider.value];
    const learned = new Map(tasks.map((task) => [task, [0, 0]]));
    for (const bar of bars) {
      const row = at.get(`${bar.task} ${bar.hop} ${step}`);
      const count = learned.get(bar.task);
      count[0] += row !== undefined && Number(row.mean) >= 0.9;
      count[1] += 1;
      const limits = row && row.low && row.high;
      bar.fill.style.width = percent(row ? row.mean : 0);
      bar.band.style.left = percent(limits ? row.low : 0);
      bar.band.style.width = limits ? `${(Math.min(1, row.high) - Math.max(0, row.low)) * 100}%` : "0";
      const short = (value) => Number(value).toFixed(2);
      bar.mean.textContent = row ? short(row.mean) : "not measured";
      bar.interval.textContent = limits ? ` [${short(row.low)}, ${short(row.high)}]` : "";
    }
    for (const total of totals) total.shown.textContent = `${learned.get(total.task).join(" of ")} hop classes at 0.9 or more`;
    now.textContent = `${step.toLocaleString("en")} of ${steps.at(-1).toLocaleString("en")}`;
    slider.setAttribute("aria-valuetext", `step ${now.textContent}`);
  };

  // It opens where the hops of the first task are furthest apart.
  const spread = (step) => {
    const means = hops.map((hop) => at.get(`${tasks[0]} ${hop} ${step}`)).filter(Boolean).map((row) => Number(row.mean));
    return Math.max(...means) - Math.min(...means);
  };
  slider.max = steps.length - 1;
  slider.value = steps.reduce((best, step, place) => (spread(step) > spread(steps[best]) ? place : best), 0);
  slider.addEventListener("input", draw);

  const play = document.getElementById("hops-play");
  let timer = 0;
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    play.textContent = "Play";
  };
  play.addEventListener("click", () => {
    if (timer) return stop();
    if (slider.value === slider.max) slider.value = 0;
    play.textContent = "Pause";
    draw();
    timer = setInterval(() => {
      slider.value = Number(slider.value) + 1;
      draw();
      if (slider.value === slider.max) stop();
    }, Math.min(400, Math.max(60, 8000 / steps.length)));
    return undefined;
  });
  draw();
  view.hidden = false;
})();

// What is wider than the page is scrolled by keyboard too.
(() => {
  const update = () => {
    for (const part of document.querySelectorAll("[data-label]")) {
      const names = { tabindex: "0", role: "region", "aria-label": part.dataset.label };
      for (const [name, value] of Object.entries(names)) {
        if (part.scrollWidth > part.clientWidth) part.setAttribute(name, value);
        else part.removeAttribute(name);
      }
    }
  };
  addEventListener("resize", update);
  addEventListener("toggle", update, true);
  update();
})();

// On paper everything is open.
(() => {
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const part of opened) part.open = true;
  });
  addEventListener("afterprint", () => {
    for (const part of opened) part.open = false;
  });
})();
