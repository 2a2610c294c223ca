"use strict";
// Draws the figures that stand as JSON in the page, in the colours of its style sheet. All timelines zoom together.
(() => {
  const PRINT_WIDTH_PX = 700;
  const NARROW_PX = 620;
  const LEGEND_ROW_PX = 19, LEGEND_SIGN_PX = 44, LETTER_PX = 6.8;
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const timelines = [];
  let following = false;

  // Replaces "var(--ink)" by the value that the style sheet gives it now.
  function coloured(value, style) {
    if (typeof value === "string") {
      return value.startsWith("var(--") ? style.getPropertyValue(value.slice(4, -1)).trim() : value;
    }
    if (Array.isArray(value)) return value.map((each) => coloured(each, style));
    if (value !== null && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, coloured(each, style)]));
    }
    return value;
  }

  function plain(text) {
    const signs = { "&lt;": "<", "&gt;": ">", "&amp;": "&", "&#36;": "$" };
    return text.replace(/<br>/g, "; ").replace(/<[^>]*>/g, "").replace(/&(lt|gt|amp|#36);/g, (sign) => signs[sign]);
  }

  // Gives each bar and point its hover text as a label, for screen readers and for tests.
  function label(plot) {
    for (const group of plot.querySelectorAll(".barlayer .trace, .scatterlayer .trace")) {
      const trace = group.__data__[0].trace;
      for (const point of group.querySelectorAll(".point")) {
        const datum = point.__data__;
        const text = Array.isArray(trace.hovertext) ? trace.hovertext[datum.i] : null;
        if (text) {
          point.setAttribute("role", "img");
          point.setAttribute("aria-label", plain(text));
        }
      }
    }
  }

  function legendRows(figure, width) {
    const names = figure.data.filter((trace) => trace.name && trace.showlegend !== false).map((trace) => trace.name.length);
    const columns = Math.max(1, Math.floor(width / (Math.max(...names, 0) * LETTER_PX + LEGEND_SIGN_PX)));
    return Math.max(1, Math.ceil(names.length / columns));
  }

  function layoutOf(figure, style, width) {
    const layout = coloured(figure.layout, style);
    const ink = style.getPropertyValue("--ink").trim();
    const paper = style.getPropertyValue("--paper").trim();
    layout.font = { family: "system-ui, 'DejaVu Sans', sans-serif", size: 12, color: ink };
    layout.paper_bgcolor = layout.plot_bgcolor = "rgba(0,0,0,0)";
    layout.hoverlabel = { align: "left", bgcolor: paper, bordercolor: ink, font: { color: ink } };
    layout.hovermode = "closest";
    layout.dragmode = "zoom";
    layout.uirevision = "kept";
    if (width < NARROW_PX) layout.margin.l = Math.round(layout.margin.l * 0.62);
    // Plotly would make the plot lower to place a legend of several rows.
    const extra = (legendRows(figure, width - layout.margin.l - layout.margin.r) - 1) * LEGEND_ROW_PX;
    layout.margin.b += extra;
    layout.height += extra;
    if (document.documentElement.dataset.printing) layout.width = width;
    return layout;
  }

  async function draw(plot) {
    const style = getComputedStyle(document.documentElement);
    const figure = figures[Number(plot.dataset.figure)];
    const printing = document.documentElement.dataset.printing;
    const layout = layoutOf(figure, style, printing ? PRINT_WIDTH_PX : plot.clientWidth);
    if (plot.layout && plot.layout.xaxis.range && figure.layout.meta) layout.xaxis.range = plot.layout.xaxis.range;
    const config = { responsive: true, displayModeBar: false, doubleClick: "reset" };
    await Plotly.react(plot, coloured(figure.data, style), layout, config);
    label(plot);
  }

  function follow(leader, change) {
    if (following) return;
    const from = change["xaxis.range[0]"], to = change["xaxis.range[1]"];
    const range = change["xaxis.range"] || (from === undefined ? null : [from, to]);
    if (!range && !change["xaxis.autorange"]) return;
    following = true;
    const whole = figures[Number(leader.dataset.figure)].layout.xaxis.range;
    const others = change["xaxis.autorange"] ? timelines : timelines.filter((plot) => plot !== leader);
    Promise.all(others.map((plot) => Plotly.relayout(plot, { "xaxis.range": [...(range || whole)] })))
      .finally(() => { following = false; });
  }

  async function drawAll() {
    const plots = [...document.querySelectorAll(".plot")];
    let failed = 0;
    for (const plot of plots) {
      try {
        await draw(plot);
      } catch (error) {
        failed += 1;
        plot.textContent = `This plot could not be drawn (${error.message}). The table below has its figures.`;
        plot.classList.add("failed");
        console.error(error);
      }
    }
    return { drawn: plots.length - failed, failed };
  }

  async function begin() {
    const result = await drawAll();
    for (const plot of document.querySelectorAll(".plot.js-plotly-plot")) {
      plot.on("plotly_afterplot", () => label(plot));
      if (figures[Number(plot.dataset.figure)].layout.meta) {
        timelines.push(plot);
        plot.on("plotly_relayout", (change) => follow(plot, change));
      }
    }
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
    addEventListener("beforeprint", () => { document.documentElement.dataset.printing = "yes"; drawAll(); });
    addEventListener("afterprint", () => { delete document.documentElement.dataset.printing; drawAll(); });
    document.body.dataset.drawn = result.drawn;
    document.body.dataset.failed = result.failed;
  }

  begin();
})();
