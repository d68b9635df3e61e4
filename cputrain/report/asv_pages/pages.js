/* What asv's published pages say of this project in their own words: publisher.py adds this file.

   asv.js is there when this runs, and its other pages are not. A benchmark opens with its variable
   as x axis and a line for each engine and machine, in place of its first values over commits. Facts
   that a machine's name tells already have no buttons and no words in legends, and regressions name
   their machine. Seconds are those of a step. And texts that asv would take for HTML are escaped: results may come from strangers. */
'use strict';

$(document).ready(function() {
    var most_lines = 8; /* asv's own limit */
    var told = {};      /* facts that a machine's name tells: {fact: values} */
    var is_ready = false;

    function escaped(text) {
        return $('<span>').text('' + text).html();
    }

    function escape_texts(index) {
        $.each(index.machines, function(machine, facts) {
            var safe = {};
            $.each(facts, function(fact, value) { safe[escaped(fact)] = escaped(value); });
            index.machines[machine] = safe;
        });
        $.each(index.benchmarks, function(name, benchmark) {
            /* asv adds the source of setup and teardown. */
            benchmark.code = escaped(benchmark.code.split('\n\nclass ')[0]);
            if (benchmark.pretty_name) {
                benchmark.pretty_name = escaped(benchmark.pretty_name);
            }
        });
    }

    /* Leave out the parameters that never differ between two graphs of one machine. */
    function hide_told(index) {
        $.each(Object.keys(index.params), function(i, fact) {
            var of_machine = {};
            var is_told = fact !== 'machine' && fact !== 'branch';
            $.each(index.graph_param_list, function(j, graph) {
                if (of_machine[graph.machine] === undefined) {
                    of_machine[graph.machine] = graph[fact];
                }
                is_told = is_told && of_machine[graph.machine] === graph[fact];
            });
            if (is_told) {
                told[fact] = index.params[fact];
                delete index.params[fact];
            }
        });
    }

    /* The variable as x axis, all values of the other parameters: in the address, where asv
       keeps what is chosen. */
    function with_axis(benchmark, params) {
        var info = {location: [benchmark.name], params: $.extend({}, params)};
        var lines = 1;
        delete info.params.benchmark;
        info.params['x-axis'] = [benchmark.param_names[0]];
        $.each(benchmark.params, function(i, values) {
            if (i > 0) {
                var shown = values.slice(0, Math.max(1, Math.floor(most_lines / lines)));
                info.params['p-' + benchmark.param_names[i]] = shown;
                lines *= shown.length;
            }
        });
        return $.asv.format_hash_string(info);
    }

    function is_as_opened(params) {
        return Object.keys(params).every(function(key) {
            return key !== 'x-axis' && key !== 'commits' && key.slice(0, 2) !== 'p-';
        });
    }

    function show_graph(show, params) {
        var benchmark = $.asv.main_json.benchmarks[params.benchmark];
        if (benchmark && benchmark.params.length && is_as_opened(params)) {
            window.location.replace(with_axis(benchmark, params));
            return; /* and come again */
        }
        show(params);
        if (benchmark && benchmark.pretty_name) {
            $('#title').html(benchmark.pretty_name).attr('title', params.benchmark);
        }
    }

    /* "training.SeqLen.time_train_steps(128, 'torch')" is "SeqLen (128, 'torch') on xeon". */
    function name_regressions() {
        $('#regressions-body td:first-child > a').not('.named').each(function(i, link) {
            var text = $(link).addClass('named').text();
            var name = text.replace(/\([^]*/, '');
            var benchmark = $.asv.main_json.benchmarks[name];
            var machine = $.asv.parse_hash_string($(link).attr('href')).params.machine;
            var shown = (benchmark && benchmark.pretty_name || name) + ' ' + text.slice(name.length);
            $(link).text(machine ? shown + ' on ' + machine : shown);
        });
    }

    new MutationObserver(name_regressions).observe(
        $('#regressions-body')[0], {childList: true, subtree: true});

    var register = $.asv.register_page;
    $.asv.register_page = function(name, show) {
        register(name, function(params) {
            if (!is_ready) {
                is_ready = true;
                escape_texts($.asv.main_json);
                hide_told($.asv.main_json);
            }
            if (name === 'graphdisplay') {
                show_graph(show, params);
            }
            else {
                show(params);
            }
        });
    };

    $.each($.asv.time_units, function(i, unit) { unit[1] += ' per step'; });

    /* Not every engine has every value: its line goes on to the next that it has. */
    function with_values(points) {
        return points.filter(function(point) { return typeof point[1] === 'number'; });
    }

    function joined(series) {
        return series.map(function(line) {
            return $.extend({}, line, {data: with_values(line.data)});
        });
    }

    /* "engine-torch; l2-2048K x 2; machine-xeon" is "torch; xeon". */
    function short_label(label, has_last) {
        var text = '; ' + label + '; ';
        $.each(told, function(fact, values) {
            $.each(values, function(i, value) {
                text = text.replace('; ' + (value ? fact + '-' + value : fact) + '; ', '; ');
            });
        });
        if (has_last) {
            text = text.replace('; commit-last; ', '; ');
        }
        return text.replace(/; (engine|machine)-/g, '; ').slice(2, -2);
    }

    function labelled(series) {
        var has_last = series.every(function(line) { return /commit-last/.test(line.label); });
        var labels = series.map(function(line) { return short_label(line.label || '', has_last); });
        return series.map(function(line, i) {
            var is_alone = labels.indexOf(labels[i]) === labels.lastIndexOf(labels[i]);
            return $.extend({}, line, {label: is_alone ? labels[i] : line.label});
        });
    }

    /* Bars over names, side by side. asv leaves that to a plugin which counts with the names, and
       shows nothing where there are several lines. */
    function side_by_side(series, options) {
        var names = series.length ? series[0].data.map(function(point) { return point[0]; }) : [];
        var width = options.series.bars.barWidth;
        var whole = {min: -0.5, max: names.length - 0.5}; /* unless the reader has zoomed in */
        options.xaxis = $.extend(whole, options.xaxis, {mode: null});
        options.xaxis.ticks = names.map(function(name, i) { return [i, name]; });
        return series.map(function(line, k) {
            var shift = (k - (series.length - 1) / 2) * width;
            var points = line.data.map(function(point, i) { return [i + shift, point[1]]; });
            return $.extend({}, line, {data: with_values(points), bars: {order: null}});
        });
    }

    /* A line of one commit is a point, which is not at the edge. */
    function small(series, options) {
        options.yaxis.autoscaleMargin = 0.2;
        return series.map(function(line) {
            var is_one = line.data && line.data.length === 1;
            return is_one ? $.extend({}, line, {points: {show: true}}) : line;
        });
    }

    var plot = $.plot;
    $.plot = $.extend(function(place, series, given) {
        var options = $.extend(true, {}, given); /* asv goes on with its own */
        if ($(place).attr('id') !== 'main-graph') {
            return plot(place, small(series, options), options);
        }
        options.xaxis.axisLabelUseCanvas = false; /* there its letters are cut off below */
        series = labelled(series);
        if (options.xaxis.mode === 'categories') {
            return plot(place, side_by_side(series, options), options);
        }
        return plot(place, joined(series), options);
    }, plot);
});
